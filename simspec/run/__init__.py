"""How does a scenario become a dataset, and who reads it?  A module for each question; the first line of each asks it.

A sweep, in the order in which data pass:

* what is asked for: `planning`, `layout`, `plans`, `traces`
* whose folder it is: `folder`, `manifest`; elsewhere than on this machine: `remote`, `address`
* what was played before: `keeping`, in files: `count_files`, as rows: `played`
* who plays the rest: `dispatch` to `executors`, `clusters`, `workers`; how many: `processors`
* how a chunk is played: `engine`
* whether that is enough: `precision`, `decided`
* what follows from it: `tables`, `policy_columns`, `scheme_columns`, `known`; as files: `store`, `schema`, `columns`
* single rounds: `record`, `pages`, `rounds`
* all of it: `sweep`; on several machines: `shards`; once more: `replay`, with `differences` and their `reasons`
* what is said meanwhile and afterwards: `progress`, `provenance`, `doctor`

What came of it:

* to be read: `dataset`, `best_table`, `pick`, `systems`, `system_notes`
* two of them: `compare`, `sides`, `lawful`, `comparison`; policies: `versus`, `versus_text`

Without a folder:

* one simulation: `single`; token by token: `sampled`, `judged`, `token_job`, `token_result`, `pairs`, `region`
* who chooses κ: `league`, `league_stage`, `league_curves`, `league_text`, `contenders`, `comparators`, `surroundings`,
  `stretches`, `regret`, `trajectory`, `makespan`
* what is best where: `phase`
"""

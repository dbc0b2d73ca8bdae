"""Claim C57: are the article's references what it says they are?

No simulation decides this; the table below is what a look at paper lists, repositories and digests found.  "From
memory" marks what was not looked up.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from simspec.claims.claim import Claim, integer, untestable
from simspec.claims.quantity import Formula

WHY = "a statement about the literature"


@dataclass(frozen=True)
class Reference:
    """One entry of the article's list.

    Attributes
    ----------
    number : int
        As printed.
    printed : str
        Whom and what it names.
    found : {"as printed", "wrong", "not found", "twice"}
        What a check made of it.
    correct : str
        The citation that is right.
    """

    number: int
    printed: str
    found: str
    correct: str


REFERENCES = (
    Reference(
        1,
        "Leviathan, Kalman, Matias 2023, ICML",
        "as printed",
        "Leviathan, Kalman, Matias, Fast Inference from Transformers via Speculative Decoding, ICML 2023, PMLR 202, "
        "19274-19286 (arXiv 2211.17192)",
    ),
    Reference(
        2,
        "Chen, Borgeaud, Irving, Lespiau, Sifre, Jumper 2023, arXiv",
        "as printed",
        "Chen et al., Accelerating Large Language Model Decoding with Speculative Sampling, arXiv 2302.01318; it "
        "holds no "
        "formula for alpha and no identity with total variation",
    ),
    Reference(
        3,
        "Cai, Li, Geng, Peng, Lee, Chen, Dao 2024, Medusa, arXiv",
        "as printed",
        "Cai et al., Medusa, ICML 2024 (arXiv 2401.10774); its heads are no hierarchy of drafts",
    ),
    Reference(
        4,
        "Zhang, Wang, Li, Shao, Lin 2024, EAGLE, ICLR",
        "wrong",
        "Li, Wei, Zhang, Zhang, EAGLE, ICML 2024 (arXiv 2401.15077); the printed names resemble those of Zhang et al., "
        "Draft & Verify, ACL 2024 (arXiv 2309.08168)",
    ),
    Reference(
        5,
        "Cai, Ye 2024, Lookahead Decoding, arXiv",
        "wrong",
        "Fu, Bailis, Stoica, Zhang, Break the Sequential Dependency of LLM Inference Using Lookahead Decoding, ICML "
        "2024 "
        "(arXiv 2402.02057)",
    ),
    Reference(
        6,
        "Sun, Sui, Lahoti, Gagrani, Beutel, Vinicombe 2024, Big Little Decoder, NeurIPS",
        "wrong",
        "Kim, Mangalam, Moon, Canny, Malik, Mahoney, Gholami, Keutzer, Speculative Decoding with Big Little Decoder, "
        "NeurIPS 2023 (arXiv 2302.07863); it contains no online algorithm and no regret",
    ),
    Reference(
        7,
        "Spector, Re 2023, SpecInfer, NeurIPS",
        "wrong",
        "Miao et al., SpecInfer, ASPLOS 2024 (arXiv 2305.09781); Spector, Re, Accelerating LLM Inference with Staged "
        "Speculative Decoding, workshop at ICML 2023 (arXiv 2308.04623), prints no interval for rho_A",
    ),
    Reference(
        8,
        "Liu, Zhu, Huo 2024, Dynamic Speculative Decoding, arXiv",
        "not found",
        "the nearest are Mamou et al. 2024, DISCO (arXiv 2405.04304); Huang, Guo, Wang, SpecDec++ (arXiv 2405.19715); "
        "Liu et al. 2024, SmartSpec (arXiv 2406.14066)",
    ),
    Reference(
        9,
        "Ouyang, Zhang, Wang, Li, Lin 2024, EAGLE-2, arXiv",
        "wrong",
        "Li, Wei, Zhang, Zhang, EAGLE-2, EMNLP 2024 (arXiv 2406.16858)",
    ),
    Reference(
        10,
        "Renyi 1961, 4th Berkeley Symposium, vol. 1",
        "as printed",
        "Renyi, On Measures of Entropy and Information, 1961, vol. 1, 547-561 (pages from memory)",
    ),
    Reference(
        11,
        "Hoeffding 1963, JASA 58(301)",
        "as printed",
        "Hoeffding, Probability Inequalities for Sums of Bounded Random Variables, JASA 58(301), 1963, 13-30 (from "
        "memory)",
    ),
    Reference(
        12,
        "Nie, Zhu, You, Zhang, Ou, Hu, Zhou, Lin, Wen, Li 2025, LLaDA, arXiv",
        "as printed",
        "Nie et al., Large Language Diffusion Models, arXiv 2502.09992",
    ),
    Reference(
        13,
        "Leviathan, Kalman, Matias 2023, Eq. (3)",
        "twice",
        "It is entry 1 again; that paper numbers only its Eq. (1), and the identity of alpha and total variation is "
        "its Corollary 3.6",
    ),
)

IN_TEXT = (
    (
        "1",
        "Sun et al. 2024 and Liu et al. 2024 as surveys",
        "Two recent surveys leave kappa* to tuning.",
        "No such surveys were found; one is Xia et al., Findings of ACL 2024, and Leviathan et al. 2023 compute the "
        "best length in their section 3.5",
    ),
    (
        "1",
        "Ouyang et al. 2024 for dynamic depth (DSD)",
        "Ouyang et al. 2024 introduced DSD.",
        "It matches neither entry 8 nor 9 of the list; Siru Ouyang's paper of 2024 is on temperature and distillation, "
        "Findings "
        "of EMNLP 2024",
    ),
    (
        "2.2",
        "Chen et al. 2023, Eq. (3), for alpha = 1 - D_TV/2",
        "Chen et al. 2023 state alpha = 1 - D_TV/2 as Eq. (3).",
        "There is no such equation in it; Leviathan et al. 2023, Corollary 3.6, alpha = 1 - D_LK, half the L1 distance",
    ),
    (
        "2.2",
        "Renyi 1961 for orders that fall",
        "Renyi 1961 proves that D_lambda does not increase with its order.",
        "D_lambda never falls as lambda grows: van Erven, Harremoes 2014, Theorem 3 (from memory)",
    ),
    (
        "5.1",
        "Spector & Re 2023 for rho_A in [-.1, .3]",
        "Spector and Re 2023 measured rho_A between -.1 and .3.",
        "Their paper on staged speculation prints no such interval (arXiv 2308.04623)",
    ),
)
"""Section, who for what, the statement, and what is right."""


def claims() -> list[Claim]:
    """Rows of C57."""
    counts = Counter(entry.found for entry in REFERENCES)
    spelled = ", ".join(f"{number} {found}" for found, number in counts.items())
    right = sum(entry.found == "as printed" for entry in REFERENCES)
    return [
        *(_entry(entry) for entry in REFERENCES),
        *(
            untestable("C57", section, f"in the text: {reading}", statement, WHY, f"{correct}.")
            for section, reading, statement, correct in IN_TEXT
        ),
        Claim(
            "C57",
            "references",
            "number of entries that are as printed, of 13",
            "All entries of the bibliography are as printed.",
            integer(len(REFERENCES)),
            Formula(lambda: float(right)),
            f"As checked by hand against paper lists, the rows above: {spelled}; so {right} of {len(REFERENCES)} are "
            "as printed.",
        ),
    ]


FOUND = {
    "as printed": "It is, in full: {}.",
    "wrong": "The paper of that name is by others: {}.",
    "not found": "No such publication was found; {}.",
    "twice": "{}.",
}
"""What a check made of an entry → how the correction begins."""


def _entry(entry: Reference) -> Claim:
    return untestable(
        "C57",
        "references",
        f"entry {entry.number}",
        f"The source is {entry.printed}.",
        WHY,
        FOUND[entry.found].format(entry.correct),
    )

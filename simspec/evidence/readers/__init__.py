"""Which readers are there?  One file and one line each."""

from simspec.evidence.readers.base import LineReader, ObjectReader
from simspec.evidence.readers.bench_json import BenchJson
from simspec.evidence.readers.eagle import Eagle
from simspec.evidence.readers.gptfast import GptFast
from simspec.evidence.readers.keyvalue import KeyValue
from simspec.evidence.readers.llamacpp_cli import LlamacppCli
from simspec.evidence.readers.llamacpp_server import LlamacppServer
from simspec.evidence.readers.llamacpp_timings import LlamacppTimings
from simspec.evidence.readers.lmstudio import LmStudio
from simspec.evidence.readers.mlc import Mlc
from simspec.evidence.readers.rounds import Rounds
from simspec.evidence.readers.sglang_bench import SglangBench
from simspec.evidence.readers.sglang_decode import SglangDecode
from simspec.evidence.readers.sglang_meta import SglangMeta
from simspec.evidence.readers.sglang_prometheus import SglangPrometheus
from simspec.evidence.readers.specbench import SpecBench
from simspec.evidence.readers.speculators import Speculators
from simspec.evidence.readers.table import TableReader
from simspec.evidence.readers.trtllm_iteration import TrtllmIteration
from simspec.evidence.readers.trtllm_request import TrtllmRequest
from simspec.evidence.readers.vllm_bench import VllmBench
from simspec.evidence.readers.vllm_offline import VllmOffline
from simspec.evidence.readers.vllm_prometheus import LlamacppPrometheus, VllmPrometheus
from simspec.evidence.readers.vllm_request import VllmRequests
from simspec.evidence.readers.vllm_v0 import VllmV0
from simspec.evidence.readers.vllm_v0_prometheus import VllmV0Prometheus
from simspec.evidence.readers.vllm_v1 import VllmV1

LINE_READERS: tuple[type[LineReader], ...] = (
    VllmV0,
    VllmV1,
    VllmV0Prometheus,
    VllmPrometheus,
    LlamacppPrometheus,
    VllmBench,
    VllmOffline,
    SglangDecode,
    SglangBench,
    SglangPrometheus,
    LlamacppCli,
    LlamacppServer,
    GptFast,
    KeyValue,
)
"""Readers of lines: each is shown the lines that hold one of its marks."""

OBJECT_READERS: tuple[type[ObjectReader], ...] = (
    VllmRequests,
    SglangMeta,
    SpecBench,
    Eagle,
    TrtllmIteration,
    TrtllmRequest,
    Mlc,
    LmStudio,
    LlamacppTimings,
    BenchJson,
)
"""Readers of JSON objects, asked in this order."""

TABLE_READERS: tuple[type[TableReader], ...] = (Speculators, Rounds)
"""Readers of whole tables, asked in this order."""

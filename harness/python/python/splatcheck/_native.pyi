"""The part that is written in Rust (harness/python/src). Nothing of it is for users."""

__version__: str
MODELS: list[str]
STAGES: list[str]

def sparse_oracle(case: bytes, model: str) -> bytes: ...

class NativeCase:
    """A case with its job at a level."""

    name: str
    camera: int
    level: str
    formulation: str | None
    preset: str | None
    model: str | None
    not_for: str | None
    has_gaussians: bool
    empty: bool
    def formulations(self) -> list[list[tuple[str, str, list[str]]]]: ...
    def inputs(self) -> bytes: ...
    def floats(self) -> list[str]: ...
    def outputs(self) -> list[tuple[str, str, list[int], str]]: ...
    def not_compared(self) -> list[str]: ...
    def judged_in(self, named: str | None, extra_roundings: int | None) -> NativeCase: ...
    def read_from(self, output: str) -> str | None: ...
    def judge(self, outputs: bytes, model: str) -> Judged: ...
    def diagnose(self, before: bytes | None, outputs: bytes, model: str) -> list[str]: ...
    def oracle(self, model: str) -> list[tuple[str, list[int], bytes, bytes]]: ...
    def write(self, path: str) -> None: ...

class Worst:
    """The element furthest outside its bound."""

    output: str
    index: list[int]
    value: float
    oracle: float
    bound: float
    ratio: float
    text: str

class Judged:
    """What a kernel's outputs came to."""

    verdict: str
    elements: int
    zeros: int
    disagree: int
    inconclusive: int
    not_compared: int
    largest_ratio: float
    worst: Worst | None
    gap: str | None
    not_judged: list[str]

class Total:
    """What the outputs of several cases came to together."""

    gap: str | None
    not_judged: list[str]
    def add(self, judged: Judged) -> None: ...

class Source:
    """Where cases come from."""

    level: str
    model: str | None

    def __init__(
        self,
        kernel: tuple[str | None, str | None, list[tuple[str, str]]],
        expression: tuple[str | None, int | None],
        draws: tuple[int, list[str]],
        convention: str | None,
    ) -> None: ...
    def drawn(self, index: int) -> NativeCase: ...
    def own_corpus(self) -> str: ...
    def corpus(self, folder: str) -> tuple[list[NativeCase], str | None]: ...

class Answer:
    """What came of all cases of a question about programs."""

    verdict: str
    not_judged: str | None
    rows: list[tuple[str, str, int, int, int, int, float, float, int | None]]

    def __init__(
        self,
        question: tuple[str, str],
        programs: list[list[tuple[str, str]]],
        arrays: tuple[bytes, bool] | None,
        drawn: tuple[int, int],
        schedules: list[str],
    ) -> None: ...
    def text(self, again: str | None) -> str: ...
    def exact_arrays(self) -> list[tuple[str, list[int], bytes]]: ...
    def write(self, path: str) -> None: ...

def manifest_files(text: str) -> list[str]: ...
def run_command(interpreter: str, arguments: list[str]) -> int: ...

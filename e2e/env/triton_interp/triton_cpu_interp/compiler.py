"""The compiler that is never asked: kernels are interpreted."""

from triton.backends.compiler import BaseBackend, GPUTarget


class InterpBackend(BaseBackend):
    binary_ext = "none"

    @staticmethod
    def supports_target(target: GPUTarget):
        return target.backend == "cpu"

    def hash(self):
        return "cpu-interp"

    def parse_options(self, options):
        return options

    def add_stages(self, stages, options, language=None):
        raise RuntimeError("this backend compiles nothing: set TRITON_INTERPRET=1")

    def load_dialects(self, context):
        pass

    def get_module_map(self):
        return {}

"""The driver that makes Triton believe in the CPU."""

from triton.backends.driver import DriverBase


class InterpDriver(DriverBase):
    @classmethod
    def is_active(cls):
        return True

    def map_python_to_cpp_type(self, ty):
        return ty

    def get_current_target(self):
        from triton.backends.compiler import GPUTarget
        return GPUTarget("cpu", 0, 0)

    def get_active_torch_device(self):
        import torch
        return torch.device("cpu")

    def get_benchmarker(self):
        raise NotImplementedError

    def get_current_device(self):
        return 0

    def get_current_stream(self, idx=0):
        return 0

    def get_device_interface(self):
        import torch
        return torch.cpu

"""Entry into the sandbox: the child calls it once, with one thread and before it loads the plugin's code."""

from __future__ import annotations

from collections.abc import Callable

from rightseat.tools.sandbox.identity import become_user, drop_capabilities, forbid_new_privileges, limit_capabilities
from rightseat.tools.sandbox.kernel import LayerUnavailable
from rightseat.tools.sandbox.landlock import SCOPE_VERSION, TRUNCATE_VERSION, get_landlock_version, restrict_files
from rightseat.tools.sandbox.namespace import enter_namespace
from rightseat.tools.sandbox.plan import DEVICES, LAYERS, PROCESS_FILES, Layer, SandboxPlan
from rightseat.tools.sandbox.seccomp import refuse_calls


class SandboxEntryFailed(Exception):
    """A layer could not be entered. The process must not run foreign code then."""

    def __init__(self, layer: Layer, why: str) -> None:
        super().__init__(f"{layer}: {why}")
        self.layer = layer
        self.why = why


def enter_sandbox(plan: SandboxPlan, on_layer: Callable[[Layer], None] | None = None) -> None:
    """Enter each layer of the plan in its order; SandboxEntryFailed at the first that this machine refuses. `on_layer`
    gets each layer before it is entered."""
    for layer in (layer for layer in LAYERS if layer in plan.layers):
        if on_layer is not None:
            on_layer(layer)
        try:
            _enter_layer(layer, plan)
        except LayerUnavailable as error:
            raise SandboxEntryFailed(layer, str(error)) from None
    give_up_privileges()


def _enter_layer(layer: Layer, plan: SandboxPlan) -> None:
    has_landlock = "landlock" in plan.layers
    version = get_landlock_version() if has_landlock else 0
    # Files of another user cannot be changed, and their processes get no signals.
    is_other_user = "uid" in plan.layers
    is_read_only = is_other_user or "namespace" in plan.layers
    match layer:
        case "namespace":
            # /proc as a whole: Landlock closes the rest of it.
            paths = (*plan.readable, *(["/proc"] if has_landlock else []))
            enter_namespace(paths, DEVICES, plan.scratch, plan.folder)
        case "uid":
            limit_capabilities()
            become_user(plan.uid)
        case "landlock":
            give_up_privileges()
            restrict_files((*plan.readable, *PROCESS_FILES), DEVICES, (plan.scratch,))
        case "seccomp":
            give_up_privileges()
            refuse_calls(
                signals=version < SCOPE_VERSION and not is_other_user,
                metadata=not is_read_only,
                truncate=version < TRUNCATE_VERSION and not is_read_only,
                alone=plan.alone,
            )


def give_up_privileges() -> None:
    """Drop all capabilities for good, whoever runs this process."""
    forbid_new_privileges()
    limit_capabilities()
    drop_capabilities()

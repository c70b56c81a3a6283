"""CopilotRuntime: a Runtime that is made and asked by CopilotKit's names."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any

import msgspec

from rightseat.copilotkit.adapters import AdapterModel, CopilotServiceAdapter, EmptyAdapter, ModelAdapter, remember_turn
from rightseat.copilotkit.endpoints import CopilotKitEndpoint, RemoteEndpoint
from rightseat.doors.copilotkit.read import read_request
from rightseat.doors.copilotkit.runtime_events import RuntimeEvent, RuntimeEventWriter
from rightseat.doors.copilotkit.subscribe import stream_runtime_events
from rightseat.doors.copilotkit.wire import GenerateCopilotResponseInput
from rightseat.engine.loop import Assistant
from rightseat.engine.toolsets import RemoteActions
from rightseat.http.endpoint import Request, to_caller_error
from rightseat.middleware.guardrails.layer import GuardrailPolicies
from rightseat.middleware.hooks import AfterRequestHook, BeforeRequestHook, ErrorHook, Hooks
from rightseat.middleware.quota import Quotas
from rightseat.runtime.incidents import Environment
from rightseat.runtime.runs import DEFAULT_ASSISTANT, RuntimeLimits, new_id, to_error
from rightseat.tools.function import as_tool
from rightseat.types.agents import AgentSource, Layer, Responder
from rightseat.types.model import Model
from rightseat.types.stores import Store
from rightseat.types.streams import closing
from rightseat.types.tools import Tool
from rightseat.types.turn import Owner
from rightseat.wiring.runtime import Runtime


class CopilotRuntime(Runtime):
    """A Runtime whose default assistant is a service adapter; `actions` are tools of the server.

    It is served as any Runtime: `rightseat.asgi(runtime)`. Without an adapter only agents answer. The keywords after
    `on_error` are those of Runtime.
    """

    def __init__(
        self,
        service_adapter: CopilotServiceAdapter | None = None,
        *,
        actions: Iterable[Tool | Callable[..., Any]] = (),
        remote_endpoints: Iterable[RemoteEndpoint] = (),
        agents: Mapping[str, Responder] | None = None,
        instructions: str = "",
        on_before_request: BeforeRequestHook | None = None,
        on_after_request: AfterRequestHook | None = None,
        on_error: ErrorHook | None = None,
        layers: Iterable[Layer] = (),
        store: Store | None = None,
        limits: RuntimeLimits = RuntimeLimits(),
        quotas: Quotas = Quotas(),
        guards: GuardrailPolicies = GuardrailPolicies(),
        environment: Environment = "production",
    ) -> None:
        sources = make_sources(remote_endpoints)
        remote = [source for endpoint, source in sources if isinstance(endpoint, CopilotKitEndpoint)]
        assistant = Assistant(
            DEFAULT_ASSISTANT,
            make_adapter_model(service_adapter or EmptyAdapter()),
            instructions,
            tuple(map(as_tool, actions)),
            toolset=RemoteActions(remote) if remote else None,
        )
        hooks = Hooks(on_before_request=on_before_request, on_after_request=on_after_request, on_error=on_error)
        super().__init__(
            assistants=[assistant],
            agents=agents,
            agent_sources=[source for _, source in sources],
            layers=[*layers, remember_turn],
            store=store,
            limits=limits,
            quotas=quotas,
            hooks=hooks,
            guards=guards,
            environment=environment,
        )

    async def process_request(
        self,
        data: GenerateCopilotResponseInput | Mapping[str, Any],
        properties: dict[str, Any] | None = None,
        *,
        owner: Owner = Owner(),
    ) -> AsyncIterator[RuntimeEvent]:
        """Run a request and yield its events; raise the CopilotKitError of a run that fails.

        `data` is the input of the mutation, also as its JSON. Closing the iterator stops the run.
        """
        await self.start()
        request = Request(method="POST", path="", params={}, query={}, headers={}, body=b"", owner=owner, id=new_id())
        copilot_request = read_request(parse_input(data), properties, request, self, True)
        writer = RuntimeEventWriter()
        async with closing(stream_runtime_events(copilot_request, self, writer)) as events:
            async for event in events:
                yield event
        if writer.failure is not None:
            raise to_error(writer.failure)


def parse_input(data: GenerateCopilotResponseInput | Mapping[str, Any]) -> GenerateCopilotResponseInput:
    if isinstance(data, GenerateCopilotResponseInput):
        return data
    try:
        return msgspec.convert(dict(data), GenerateCopilotResponseInput)
    except msgspec.ValidationError as error:
        raise to_caller_error(error, GenerateCopilotResponseInput) from None


def make_adapter_model(adapter: CopilotServiceAdapter) -> Model:
    """Return the model of an adapter: its own one, unless the adapter has a `process` of its own."""
    if isinstance(adapter, ModelAdapter) and type(adapter).process is ModelAdapter.process:
        return adapter.model
    return AdapterModel(adapter)


def make_sources(endpoints: Iterable[RemoteEndpoint]) -> list[tuple[RemoteEndpoint, AgentSource]]:
    """Make the source of each endpoint; several of one type are numbered."""
    sources: list[tuple[RemoteEndpoint, AgentSource]] = []
    for endpoint in endpoints:
        count = sum(other.type == endpoint.type for other, _ in sources)
        name = f"{endpoint.type.lower()}-{count + 1}" if count else endpoint.type.lower()
        sources.append((endpoint, endpoint.make_source(name)))
    return sources

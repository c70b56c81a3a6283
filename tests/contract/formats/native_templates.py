"""Chat templates in the manner of today's families, written for these tests."""

# Calls as XML with a parameter each, after an optional thought.
XML = """\
{%- macro begin(role) -%}<|im_start|>{{ role }}
{% endmacro -%}
{%- if tools -%}
{{ begin("system") }}{% if messages[0].role == "system" %}{{ messages[0].content }}

{% endif %}You have these tools:
<tools>
{%- for tool in tools %}
{{ tool.function | tojson }}
{%- endfor %}
</tools>
A call is <tool_call>, <function=NAME>, a <parameter=NAME> for each argument, </function> and </tool_call>.<|im_end|>
{% elif messages[0].role == "system" -%}
{{ begin("system") }}{{ messages[0].content }}<|im_end|>
{% endif -%}
{%- for message in messages -%}
{%- if message.role == "tool" -%}
{{ begin("user") }}<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% elif message.role != "system" -%}
{{ begin(message.role) }}{{ message.content or "" }}
{%- for call in message.tool_calls or [] -%}
{%- if not loop.first or message.content %}
{% endif -%}
<tool_call>
<function={{ call.function.name }}>
{% for name, value in call.function.arguments | items -%}
<parameter={{ name }}>
{{ value if value is string else value | tojson }}
</parameter>
{% endfor -%}
</function>
</tool_call>
{%- endfor -%}
<|im_end|>
{% endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{ begin("assistant") }}
{%- endif -%}
"""

# Calls as JSON between tokens of their own.
TOKEN = """\
{%- if tools -%}
<|sys|>Tools: {{ tools | tojson }}<|end|>
{%- endif -%}
{%- for message in messages -%}
{%- if message.role == "tool" -%}
<|result|>{{ message.content }}<|end|>
{%- else -%}
<|{{ message.role }}|>{{ message.content or "" }}
{%- for call in message.tool_calls or [] -%}
<|call_begin|>{{ call.function.name }}<|call_args|>{{ call.function.arguments | tojson }}<|call_end|>
{%- endfor -%}
<|end|>
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
<|assistant|>
{%- endif -%}
"""

# A list of calls, each an object whose only key is the tool's name.
LIST = """\
{%- if tools -%}
[DEV]{% for tool in tools %}{{ tool.function.name }}: {{ tool.function.parameters | tojson }}
{% endfor %}[/DEV]
{%- endif -%}
{%- for message in messages -%}
{%- if message.role == "tool" -%}
[OUT]{{ message.content }}[/OUT]
{%- elif message.role == "assistant" -%}
[BOT]{{ message.content or "" }}
{%- if message.tool_calls -%}
[CALLS][
{%- for call in message.tool_calls -%}
{{ ", " if not loop.first }}{"{{ call.function.name }}": {{ call.function.arguments | tojson }}}
{%- endfor -%}
][/CALLS]
{%- endif -%}
[/BOT]
{%- else -%}
[{{ message.role | upper }}]{{ message.content }}[/{{ message.role | upper }}]
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
[BOT]
{%- endif -%}
"""

NATIVE_TEMPLATES = {"xml": XML, "token": TOKEN, "list": LIST}

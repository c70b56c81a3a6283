"""Sentences that the server itself says to a person in a conversation, in each language of types/language.

Clients match the English sentences: they are part of the wire.
"""

from __future__ import annotations

from rightseat.types.language import Language

SENTENCES: dict[str, dict[Language, str]] = {
    # Approvals
    "allow_call": {"en": "Allow {name} with {arguments}?", "zh": "是否允许执行 {name}，参数为 {arguments}？"},
    "allow_request": {
        "en": "Allow {request} at {hosts} with {arguments}?",
        "zh": "是否允许向 {hosts} 发送 {request}，参数为 {arguments}？",
    },
    "or": {"en": " or ", "zh": " 或 "},
    "no_server": {"en": "no server", "zh": "（没有服务器）"},
    "allow_step": {"en": "Allow the step {step} of {flow}?", "zh": "是否允许执行 {flow} 的步骤 {step}？"},
    "reply_yes_or_no": {"en": "Reply yes or no.", "zh": "请回复“是”或“否”。"},
    "go_on": {"en": "Go on with {node}?", "zh": "是否继续执行 {node}？"},
    "open_url": {"en": "Open {url} and agree here when it is done.", "zh": "请打开 {url}，完成后在此确认。"},
    "please_answer": {"en": "Please answer.", "zh": "请回答。"},
    # Questions for values and files
    "missing_values": {
        "en": "{name} needs {fields}. Which value shall it have?",
        "zh": "{name} 还需要：{fields}。请问应填写什么？",
    },
    "optional_field": {"en": "optional", "zh": "可不填"},
    "attach_file": {"en": "Can you attach a file ({names}) to your answer?", "zh": "请随回复上传文件（{names}）。"},
    "choose_file": {
        "en": "Which of the attached files is meant ({names})?",
        "zh": "请问使用哪个已上传的文件（{names}）？",
    },
    "rerun_step": {
        "en": "The server stopped in the middle of the step {step} of {flow}: it may have run. "
        "Shall it be run again (retry), left out (skip), or shall the flow end here (stop)?",
        "zh": "服务器在执行 {flow} 的步骤 {step} 时停止，该步骤可能已经执行过。"
        "请问是重新执行（retry）、跳过（skip），还是结束流程（stop）？",
    },
    "rerun_choices": {
        "en": "retry runs the step again, skip goes on without it, stop ends the flow",
        "zh": "retry：重新执行该步骤；skip：跳过该步骤；stop：结束流程",
    },
    "rerun_call": {
        "en": "The server stopped in the middle of {name} with {arguments}: it may have run. "
        "Shall it be run again (retry) or left out (skip)?",
        "zh": "服务器在执行 {name}（参数为 {arguments}）时停止，该操作可能已经执行过。"
        "请问是重新执行（retry）还是跳过（skip）？",
    },
    "rerun_call_choices": {
        "en": "retry runs the call again, skip goes on without it",
        "zh": "retry：重新执行该操作；skip：跳过该操作",
    },
    # An answer that does not fit
    "ask_again": {"en": "{question}\n({problem})", "zh": "{question}\n（{problem}）"},
    "fields_not_said": {
        "en": "the answer does not say {fields}; please give each value by name",
        "zh": "回答中没有 {fields}；请按名称逐个给出",
    },
    "answer_one_of": {"en": "please answer with one of: {choices}", "zh": "请从以下选项中选择：{choices}"},
    "answer_yes_or_no": {
        "en": "this is neither a yes nor a no, so nothing has been done yet; reply yes or no",
        "zh": "这既不是同意也不是拒绝，所以尚未执行；请回复“是”或“否”",
    },
    "answer_unreadable": {
        "en": "the answer could not be read; please give each value by name",
        "zh": "无法理解该回答；请按名称逐个给出",
    },
    "answer_invalid": {"en": "{problem}", "zh": "回答不符合要求：{problem}"},
    # What has run already
    "run_again": {
        "en": "This has run before in this conversation. Run it again?",
        "zh": "在本次对话中已经执行过。是否再执行一次？",
    },
    "not_run_again": {"en": "All right, it was not run again.", "zh": "好的，没有再次执行。"},
    "nothing_to_run": {
        "en": "All right. Nothing was run. Say what you want next.",
        "zh": "好的。没有执行任何操作。需要什么请告诉我。",
    },
    "reply_came_before": {
        "en": "This reply came before, and nothing was run again. Say what you want next.",
        "zh": "这个回复之前已经收到，没有再次执行。需要什么请告诉我。",
    },
    # Calls that a person did not allow or answer
    "call_denied": {"en": "The person did not allow this call.", "zh": "用户没有允许此操作，操作未执行。"},
    "call_cancelled": {"en": "The person did not want to answer.", "zh": "用户不想回答，操作未执行。"},
    "call_unanswered": {"en": "The person was asked three times: {problem}", "zh": "已询问用户三次：{problem}"},
    # Questions that can no longer be answered
    "ask_expired": {
        "en": "This question was answered before, or it has expired. Please ask again.",
        "zh": "这个问题已经回答过，或者已经过期。请重新提问。",
    },
    "call_expired": {
        "en": "This question was answered before, or it has expired. Please call again.",
        "zh": "这个问题已经回答过，或者已经过期。请重新调用。",
    },
    "assistant_changed": {
        "en": "The assistant has changed since it asked. Please ask again.",
        "zh": "提问之后助手已有变动。请重新提问。",
    },
    "tool_changed": {
        "en": "The tool has changed since it asked. Please call it again.",
        "zh": "提问之后工具已有变动。请重新调用。",
    },
    "flow_changed": {
        "en": "The flow has changed since it asked. Please ask again from the start.",
        "zh": "提问之后流程已有变动。请从头重新提问。",
    },
    "called_tool_changed": {
        "en": "What the step {step} calls has changed since it asked. Ask again: finished steps are not repeated.",
        "zh": "提问之后，步骤 {step} 所调用的内容已有变动。请重新提问：已完成的步骤不会重复。",
    },
    "stopped_flow_changed": {
        "en": "The flow has changed since it stopped. Please ask again from the start.",
        "zh": "流程停止之后已有变动。请从头重新提问。",
    },
    # Flows that a person ends
    "flow_cancelled": {
        "en": "The flow ends here: its question was not answered.",
        "zh": "流程到此结束：它的问题没有得到回答。",
    },
    "flow_unanswered": {
        "en": "The flow ends here: it has asked three times, and none of the answers could be used.",
        "zh": "流程到此结束：已询问三次，回答都无法使用。",
    },
    "suggested_questions": {"en": "You could ask next:", "zh": "接下来可以问："},
    "flow_stopped": {"en": "The flow {flow} was stopped at step {step}.", "zh": "流程 {flow} 已在步骤 {step} 停止。"},
    "step_denied": {
        "en": "The step {step} was not allowed, so the flow {flow} ends here.",
        "zh": "步骤 {step} 没有得到允许，流程 {flow} 到此结束。",
    },
    "request_denied": {
        "en": "The step {step} was not allowed, so the flow ends here.",
        "zh": "步骤 {step} 没有得到允许，流程到此结束。",
    },
    # Tables as text
    "more_rows": {"en": "({shown} of {total} rows)", "zh": "（共 {total} 行，显示前 {shown} 行）"},
    "more_columns": {"en": "({shown} of {total} columns)", "zh": "（共 {total} 列，显示前 {shown} 列）"},
    "rows_shown": {
        "en": "({name}: the first {shown} of {total} rows are shown.)",
        "zh": "（{name}：共 {total} 行，显示前 {shown} 行。）",
    },
    # Results of tools that do not fit the model
    "rows_read": {
        "en": "{shown} of {total} rows of {name} were read",
        "zh": "{name} 的结果共 {total} 行，读取了 {shown} 行",
    },
    "result_cut": {
        "en": "A part of the result of {name} was read: all of it does not fit the model",
        "zh": "{name} 的结果只读取了一部分：全部内容超出了模型的上下文",
    },
    # Artifacts that cannot be encoded
    "no_rows": {"en": "({name} has no rows.)", "zh": "（{name} 没有数据行。）"},
    "not_shown": {"en": "({name} could not be shown.)", "zh": "（{name} 无法显示。）"},
    # OpenBB Workspace
    "openbb_repeated_call": {
        "en": "I have asked for this data before and got the same, so I stop here. Please ask in another way.",
        "zh": "这些数据之前已经取过，结果相同，所以到此为止。请换一种方式提问。",
    },
    "openbb_missing_tool": {
        "en": "The answer needs a widget or a tool that is not there any more. Please ask again.",
        "zh": "回答需要的组件或工具已经不存在。请重新提问。",
    },
    "openbb_unreadable": {
        "en": "None of the messages can be read, so there is nothing to answer. Please ask again.",
        "zh": "没有可以读取的消息，无法回答。请重新提问。",
    },
    "openbb_too_large": {
        "en": "Your question with its widgets, files and history is larger than this server takes. Remove files or "
        "context, or start a new chat. Who runs the server can raise max_body_mb.",
        "zh": "您的问题连同组件、文件和历史记录超过了服务器允许的大小。请移除部分文件或上下文，或新建对话。"
        "服务器管理员可以调高 max_body_mb。",
    },
    "no_answer": {"en": "The model gave no answer. Please ask again.", "zh": "模型没有给出回答。请重新提问。"},
    "cut_length": {
        "en": "The answer was cut off: it reached the limit of tokens. Ask for less at once. (length)",
        "zh": "回答被截断：已达到 token 上限。请减少一次提问的内容。（length）",
    },
    "cut_content_filter": {
        "en": "The model's provider stopped this answer. (content_filter)",
        "zh": "模型提供方中止了这个回答。（content_filter）",
    },
    "openbb_reading_file": {"en": "Reading 1 file", "zh": "正在读取 1 个文件"},
    "openbb_reading_files": {"en": "Reading {count} files", "zh": "正在读取 {count} 个文件"},
    "openbb_unread": {"en": "{name} could not be read", "zh": "无法读取 {name}"},
    "openbb_unseen": {
        "en": "{name} was not read: the model does not take images",
        "zh": "未读取 {name}：模型不支持图片",
    },
    "openbb_running": {"en": "Running {name}", "zh": "正在执行 {name}"},
    "openbb_done": {"en": "{name} is done", "zh": "{name} 已完成"},
    "openbb_failed": {"en": "{name} failed", "zh": "{name} 失败"},
    "openbb_a_tool": {"en": "A tool", "zh": "工具"},
    "openbb_thinking": {"en": "Thinking", "zh": "思考"},
    "openbb_history_cut": {
        "en": "Older messages were left out: they do not fit the model",
        "zh": "较早的消息已省略：超出了模型的上下文",
    },
    "openbb_offered_widgets": {
        "en": "The model was given {shown} of {total} widgets. Name another one to have it considered.",
        "zh": "已向模型提供 {total} 个组件中的 {shown} 个。如需其他组件，请在问题中写出它的名称。",
    },
    "openbb_offered_tools": {
        "en": "The model was given {shown} of {total} MCP tools. Name another one to have it considered.",
        "zh": "已向模型提供 {total} 个 MCP 工具中的 {shown} 个。如需其他工具，请在问题中写出它的名称。",
    },
    "openbb_offered_skills": {
        "en": "The model was given {shown} of {total} skills. Name another one to have it considered.",
        "zh": "已向模型提供 {total} 个技能中的 {shown} 个。如需其他技能，请在问题中写出它的名称。",
    },
    "openbb_offered_items": {
        "en": "{shown} of {total} added items were read",
        "zh": "已读取 {total} 个添加项中的 {shown} 个",
    },
    "openbb_offered_pages": {"en": "{shown} of {total} pages were read", "zh": "已读取 {total} 个网页中的 {shown} 个"},
    "openbb_rows": {
        "en": "{name}: {shown} of {total} rows were read",
        "zh": "{name}：已读取 {total} 行中的 {shown} 行",
    },
    "openbb_cut": {
        "en": "{name}: only a part was read, since the model has no room for all of it",
        "zh": "{name}：模型的上下文有限，只读取了一部分",
    },
    "openbb_answer_failed": {"en": "The answer failed", "zh": "回答失败"},
    # The embedded model
    "embedded_unsure": {
        "en": "I am not sure: I am a very small model, good at calling tools and weak at knowledge. "
        "A better model is one line away: `rightseat models list`.",
        "zh": "这个问题我答不好：我是一个很小的本地模型，擅长调用工具，不擅长中文常识和写作。"
        "换一个更好的模型只要一行命令：`rightseat models list`。",
    },
    "embedded_cannot_do": {
        "en": "I can't do that here: nothing that is set up on this server does it. Ask me “What can you do?” to see "
        "what I can do.",
        "zh": "这里做不到：这台服务器上没有配置能做这件事的功能。您可以问我“你能做什么？”。",
    },
    "embedded_ask_for": {"en": "Please tell me the {name}.", "zh": "请告诉我{name}。"},
    "embedded_can_do": {
        "en": "I can chat a little, and I can do this for you:",
        "zh": "我可以简单聊聊天，还可以为您做这些：",
    },
    "embedded_no_tools": {
        "en": "I can answer short questions in English. No tools are set up here yet: see docs/tools.md for how to add "
        "one.",
        "zh": "我可以回答简短的问题。这里还没有配置工具，添加方法见 docs/tools.md。",
    },
    "embedded_more_tools": {"en": "… and {count} more tools", "zh": "……还有 {count} 个工具"},
    # Answers from tables by rules
    "table_value": {
        "en": "{column} is {value} ({row}). Source: {source}.",
        "zh": "{column} 为 {value}（{row}）。来源：{source}。",
    },
    "table_latest": {
        "en": "The latest {column} is {value} ({row}). Source: {source}.",
        "zh": "最新的 {column} 为 {value}（{row}）。来源：{source}。",
    },
    "table_earliest": {
        "en": "The earliest {column} is {value} ({row}). Source: {source}.",
        "zh": "最早的 {column} 为 {value}（{row}）。来源：{source}。",
    },
    "table_only": {"en": "{column} is {value}. Source: {source}.", "zh": "{column} 为 {value}。来源：{source}。"},
    "table_highest": {
        "en": "The highest {column} is {value} ({row}). Source: {source}.",
        "zh": "{column} 最高的是 {row}，为 {value}。来源：{source}。",
    },
    "table_lowest": {
        "en": "The lowest {column} is {value} ({row}). Source: {source}.",
        "zh": "{column} 最低的是 {row}，为 {value}。来源：{source}。",
    },
    "table_highest_nth": {
        "en": "Number {number} by {column} is {row} with {value}. Source: {source}.",
        "zh": "{column} 第 {number} 高的是 {row}，为 {value}。来源：{source}。",
    },
    "table_lowest_nth": {
        "en": "Number {number} by {column}, lowest first, is {row} with {value}. Source: {source}.",
        "zh": "{column} 第 {number} 低的是 {row}，为 {value}。来源：{source}。",
    },
    "table_highest_list": {
        "en": "The highest by {column}:\n{rows}\nSource: {source}.",
        "zh": "按 {column} 从高到低：\n{rows}\n来源：{source}。",
    },
    "table_lowest_list": {
        "en": "The lowest by {column}:\n{rows}\nSource: {source}.",
        "zh": "按 {column} 从低到高：\n{rows}\n来源：{source}。",
    },
    "table_highest_group": {
        "en": "{row} has the highest total of {column}: {value}. Source: {source}.",
        "zh": "{column} 合计最高的是 {row}：{value}。来源：{source}。",
    },
    "table_lowest_group": {
        "en": "{row} has the lowest total of {column}: {value}. Source: {source}.",
        "zh": "{column} 合计最低的是 {row}：{value}。来源：{source}。",
    },
    "table_sum": {
        "en": "The total of {column} is {value} ({count} rows: {rows}). Source: {source}.",
        "zh": "{column} 合计为 {value}（{count} 行：{rows}）。来源：{source}。",
    },
    "table_average": {
        "en": "The average of {column} is {value} ({count} rows: {rows}). Source: {source}.",
        "zh": "{column} 的平均值为 {value}（{count} 行：{rows}）。来源：{source}。",
    },
    "table_median": {
        "en": "The median of {column} is {value} ({count} rows: {rows}). Source: {source}.",
        "zh": "{column} 的中位数为 {value}（{count} 行：{rows}）。来源：{source}。",
    },
    "table_share": {
        "en": "{rows}: {column} {value} of {total}, which is {percent}. Source: {source}.",
        "zh": "{rows}：{column} {value}，总计 {total}，占 {percent}。来源：{source}。",
    },
    "table_count": {
        "en": "{count} rows have {condition} ({rows}). Source: {source}.",
        "zh": "共 {count} 行符合 {condition}（{rows}）。来源：{source}。",
    },
    "table_count_all": {"en": "There are {count} rows. Source: {source}.", "zh": "共有 {count} 行。来源：{source}。"},
    "table_distinct": {
        "en": "There are {count} different values of {column}: {rows}. Source: {source}.",
        "zh": "{column} 共有 {count} 种：{rows}。来源：{source}。",
    },
    "table_beyond": {
        "en": "{count} by {column}:\n{rows}\nSource: {source}.",
        "zh": "按 {column} 共 {count} 个：\n{rows}\n来源：{source}。",
    },
    "table_none_beyond": {
        "en": "No row has such a {column}. Source: {source}.",
        "zh": "没有符合条件的 {column}。来源：{source}。",
    },
    "table_difference": {
        "en": "{column}: {first} minus {second} is {value}. Source: {source}.",
        "zh": "{column}：{first} 减去 {second} 等于 {value}。来源：{source}。",
    },
    "table_figure": {"en": "{text}. Source: {source}.", "zh": "{text}。来源：{source}。"},
    "table_rose": {
        "en": "{column} rose from {before} ({start}) to {after} ({end}), by {value} or {percent}. Source: {source}.",
        "zh": "{column} 从 {before}（{start}）上升到 {after}（{end}），增加 {value}，即 {percent}。来源：{source}。",
    },
    "table_fell": {
        "en": "{column} fell from {before} ({start}) to {after} ({end}), by {value} or {percent}. Source: {source}.",
        "zh": "{column} 从 {before}（{start}）下降到 {after}（{end}），减少 {value}，即 {percent}。来源：{source}。",
    },
    "table_same": {
        "en": "{column} did not change: {before} ({start}) and {after} ({end}). Source: {source}.",
        "zh": "{column} 没有变化：{before}（{start}）和 {after}（{end}）。来源：{source}。",
    },
    "table_no_fall": {"en": "No {column} fell. Source: {source}.", "zh": "没有下降的 {column}。来源：{source}。"},
    "table_no_rise": {"en": "No {column} rose. Source: {source}.", "zh": "没有上升的 {column}。来源：{source}。"},
    "table_rows": {"en": "{source} shows:\n{rows}", "zh": "{source} 的数据：\n{rows}"},
    "table_no_column": {
        "en": "{source} has no {name}. Its columns are: {columns}.",
        "zh": "{source} 中没有{name}。它的列有：{columns}。",
    },
    "table_no_row": {"en": "{source} has no data for {name}.", "zh": "{source} 中没有 {name} 的数据。"},
    "table_no_row_in": {
        "en": "{source} has no data for {name}. It only covers {first} to {last}.",
        "zh": "{source} 中没有 {name} 的数据，只包含 {first} 至 {last}。",
    },
    "table_empty": {"en": "{source} has no rows.", "zh": "{source} 没有数据。"},
    "no_source": {
        "en": "Nothing on the dashboard has that data. There is: {names}.",
        "zh": "仪表盘上没有这项数据。现有：{names}。",
    },
    "no_source_at_all": {
        "en": "There is no data here that answers that: add a widget or a table to the chat.",
        "zh": "这里没有可以回答这个问题的数据：请添加组件或表格。",
    },
    "can_ask_about": {
        "en": "I can answer questions about the data on your dashboard: {names}. Ask for a value, a date, "
        "the highest or lowest, a total, an average or a change.",
        "zh": "我可以帮您回答仪表盘上数据的问题：{names}。您可以询问某个数值、日期、最高或最低、合计、平均或变化。",
    },
    "result_shown": {"en": "{result}", "zh": "结果：{result}"},
    "result_denied": {"en": "All right, nothing was done.", "zh": "好的，没有执行。"},
    "result_rest_denied": {"en": "The rest was not done.", "zh": "其余的没有执行。"},
    "result_failed": {"en": "That did not work: {problem}", "zh": "没有成功：{problem}"},
    "result_empty": {"en": "Nothing was found.", "zh": "没有找到。"},
    "result_more": {"en": "… and {count} more", "zh": "……还有 {count} 项"},
    # Guardrails
    "input_refused": {"en": "This message is not answered: {why}.", "zh": "这条消息不予回答：{why}。"},
    "output_refused": {"en": "The answer was stopped: {why}.", "zh": "回答已被中止：{why}。"},
    "guard_words": {"en": "it contains words that are not allowed here", "zh": "其中有此处不允许的词语"},
    "guard_pattern": {"en": "it contains something of a form that is not allowed here", "zh": "其中有此处不允许的内容"},
    "guard_topic": {"en": "it is about something that is not talked about here", "zh": "此处不讨论这个话题"},
    "guard_off_topic": {"en": "it is not about what this assistant is for", "zh": "它与这个助手的用途无关"},
    "guard_length": {"en": "it is longer than allowed here", "zh": "它超过了此处允许的长度"},
    "guard_tokens": {"en": "it has more tokens than allowed here", "zh": "它超过了此处允许的 token 数"},
    "guard_personal": {"en": "it contains personal data or a secret", "zh": "其中有个人信息或机密"},
    "guard_validator": {"en": "a check that is set up here does not allow it", "zh": "此处设置的检查不允许它"},
    "guard_unchecked": {"en": "a check that is set up here could not be made", "zh": "此处设置的检查无法进行"},
}


def get_sentence(key: str, language: Language, **values: object) -> str:
    """Return the sentence of the key in the language, with its values filled in."""
    return SENTENCES[key][language].format(**values)

"""Answers about the assistant itself: greetings, what it can do, and how to set it up, in English and Chinese.

They are templates: the weights know nothing of this server and would invent commands. A topic is recognized by the
words that it needs, anywhere in the message, and by a vocabulary that covers what is asked (see help_topics).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from rightseat.models.llamacpp.embedded.clauses import MAX_LENGTH, is_question, split_clauses
from rightseat.models.llamacpp.embedded.help_topics import (
    CAPABILITY,
    MAKER,
    SCRIPTED,
    SETUP_TOPICS,
    WHO,
    WRITTEN_ANSWERS,
    HelpTopic,
    compile_pattern,
)
from rightseat.models.llamacpp.embedded.shortcuts import Shortcut
from rightseat.models.llamacpp.embedded.small_talk import GREETING, SMALL_TALK, is_aside, is_pleasantry, opens_chat
from rightseat.types.language import Language
from rightseat.types.model import ToolSpec
from rightseat.types.sentences import get_sentence

_MAX_TOOLS = 12
_MAX_SUMMARY = 200


def find_help_answer(
    question: str,
    language: Language,
    tools: tuple[ToolSpec, ...],
    shortcuts: Mapping[str, Shortcut],
    *,
    has_own_voice: bool,
    is_reply: bool = False,
) -> str | None:
    """Return the answer to a greeting or to a question about the assistant; None for other questions.

    A request that lacks a value gets the question for it: the weights would take an hour for a number of people.

    `has_own_voice`: an application's system prompt says who the assistant is, so only its tools are told.
    `is_reply`: the assistant asked something before."""
    for shortcut in shortcuts.values() if len(question) <= MAX_LENGTH else ():
        if shortcut.missing and shortcut.related.search(question):
            return shortcut.missing[language]
    clauses = split_clauses(question)
    topic = find_topic(clauses)
    if topic is CAPABILITY and (tools or not has_own_voice):
        return describe_tools(tools, shortcuts, language)
    if topic is None or has_own_voice or is_reply:
        return None
    return describe_model(" ".join(clauses), language) if topic is WHO else topic.get_answer(language)


def find_topic(clauses: list[str]) -> HelpTopic | None:
    """Return the topic of a message by its clauses: of small talk only if there is nothing else."""
    talk = {clause: topic for clause in clauses if (topic := _find_small_talk(clause))}
    rest = [clause for clause in clauses if clause not in talk and not is_pleasantry(clause)]
    small_talk = min(talk.values(), key=SMALL_TALK.index, default=None)
    if not rest:
        return small_talk
    topics = (*SETUP_TOPICS, WHO, CAPABILITY)
    topic = next((topic for topic in topics if topic.matches(rest)), None)
    if topic is None and sum(map(is_question, rest)) == 1:
        # Clauses that say what it is wished for: "I want it to check our stock, how do I add my own tools?"
        asked = [clause for clause in rest if is_question(clause)]
        topic = next((topic for topic in topics if topic.takes_asides and topic.matches(asked)), None)
    if topic is None and all(map(is_aside, rest)):
        return small_talk
    if topic is None and opens_chat(clauses, rest):
        return small_talk or GREETING
    return topic or next((topic for topic in topics if topic.matches_loosely(clauses)), None)


def _find_small_talk(clause: str) -> HelpTopic | None:
    return next((topic for topic in SMALL_TALK if topic.matches([clause])), None)


_ASKS_YES_OR_NO = re.compile(
    r"\b(?:are you|am i|is this|is it|is there|you are|you're|were you|do you run|did)\b|[你您]是(?!谁|什么|哪)|"
    r"在[跟和]",
    re.IGNORECASE,
)
_ASKS_WHICH = re.compile(r"\b(?:which|what|how|who|where|why)\b|什么|哪|怎|谁", re.IGNORECASE)
_ASKS_MAKER = re.compile(
    r"\b(?:made|make|makes|built|build|created?|creators?|train(?:ed)?|develop(?:ed|ers?)?|designed|programmed|"
    r"programmer|invented|inventor|engineered|coded|owns?|owned|owner|maker|makers|company|organi[sz]ation|behind|"
    r"belong|work for|come from|responsible)\b|公司|开发|创造|训练|发明|作者|主人|老板|团队|谁.{0,3}[做写造]|"
    r"[做写造].{0,2}的|出品|研发|旗下",
    re.IGNORECASE,
)
_PEOPLE = re.compile(r"\b(?:human|person|people)\b|真人|人类|个人|是人(?:吗|还是)", re.IGNORECASE)
_OTHER_MODELS = re.compile(
    r"\b(?:chatgpt|gpt\S*|claude|gemini|bard|copilot|deepseek|grok|(?<=are you )llama|(?<=is this )llama|qwen|kimi|"
    r"mistral|siri|alexa|google|openai|microsoft|meta|facebook|anthropic|apple|amazon|nvidia|baidu|alibaba|tencent|"
    r"bytedance|huawei|deepmind|xai|ibm)\b|chatgpt|gpt|openai|google|claude|gemini|deepseek|kimi|文心|千问|豆包|元宝|"
    r"智谱|星火|谷歌|百度|阿里|腾讯|微软|字节|华为|苹果",
    re.IGNORECASE,
)
_OWN_NAMES = re.compile(r"\b(?:hugging ?face|smollm\w*)", re.IGNORECASE | re.ASCII)
_MACHINES = re.compile(
    r"\b(?:ai|robot|bot|chatbot|machine|llm|computer|program)\b|机器人?|人工智能|程序|模型", re.IGNORECASE
)


def describe_model(question: str, language: Language) -> str:
    """Return who answers, and who made the model or wrote the answers where that is asked."""
    if compile_pattern(SCRIPTED).search(question):
        # Neither yes nor no is right: some answers are written in advance.
        return f"{WHO.get_answer(language)}{'' if language == 'zh' else ' '}{WRITTEN_ANSWERS[language]}"
    names_maker = _ASKS_MAKER.search(question) or _OWN_NAMES.search(question)
    asks_maker = names_maker and not _PEOPLE.search(question)
    return find_yes_or_no(question, language) + (MAKER[language] if asks_maker else WHO.get_answer(language))


def find_yes_or_no(question: str, language: Language) -> str:
    """Return `No. ` to a person who asks for a human or another assistant, `Yes. ` for a machine, else nothing."""
    names_other = _OTHER_MODELS.search(question) is not None
    asks_others = names_other or bool(_PEOPLE.search(question))
    asks_own = _OWN_NAMES.search(question) is not None
    asks_machine = asks_own or (bool(_MACHINES.search(question)) and not names_other)
    asks = names_other or (_ASKS_YES_OR_NO.search(question) and not _ASKS_WHICH.search(question))
    if asks_others == asks_machine or not asks:
        return ""
    if language == "zh":
        return "不是。" if asks_others else "是的。"
    return "No. " if asks_others else "Yes. "


def describe_tools(tools: tuple[ToolSpec, ...], shortcuts: Mapping[str, Shortcut], language: Language) -> str:
    """Return what the assistant can do, from its tools."""
    if not tools:
        return get_sentence("embedded_no_tools", language)
    lines = [f"- {_summarize_tool(tool, shortcuts, language)}" for tool in tools[:_MAX_TOOLS]]
    if len(tools) > _MAX_TOOLS:
        lines.append(get_sentence("embedded_more_tools", language, count=len(tools) - _MAX_TOOLS))
    return "\n".join([get_sentence("embedded_can_do", language), *lines])


def _summarize_tool(tool: ToolSpec, shortcuts: Mapping[str, Shortcut], language: Language) -> str:
    """Return the first sentence of the tool's description, or its name."""
    shortcut = shortcuts.get(tool.name)
    if shortcut is not None and language in shortcut.summaries:
        return shortcut.summaries[language]
    first = re.split(r"(?<=[.!?])\s|(?<=[。！？])|\n", tool.description.strip(), maxsplit=1)[0][:_MAX_SUMMARY]
    return f"{first} ({tool.name})" if first else tool.name

"""Records whose keys differ in one word only: the price in the morning and in the evening, old and new.

To answer from them, a question's own word has to be found again.
"""

from __future__ import annotations

from train.draw import Draw
from train.kinds import draw_value
from train.records import RecordQuestion

# What tells the keys apart, with the words people have for it.
SIDES = [
    [("morning", "in the morning", "早上"), ("evening", "in the evening", "晚上"), ("noon", "at noon", "中午")],
    [("inside", "inside", "里面"), ("outside", "outside", "外面")],
    [("left", "on the left", "左边"), ("right", "on the right", "右边")],
    [("men", "for men", "男士"), ("women", "for women", "女士"), ("children", "for children", "儿童")],
    [("old", "of the old one", "旧的"), ("new", "of the new one", "新的")],
    [("north", "in the north", "北边"), ("south", "in the south", "南边"), ("east", "in the east", "东边")],
    [("top", "at the top", "上面"), ("middle", "in the middle", "中间"), ("bottom", "at the bottom", "下面")],
    [("first", "of the first one", "第一个"), ("second", "of the second one", "第二个")],
    [("planned", "as planned", "计划"), ("actual", "in fact", "实际")],
    [("today", "today", "今天"), ("yesterday", "yesterday", "昨天"), ("tomorrow", "tomorrow", "明天")],
    [("monday", "on Monday", "周一"), ("friday", "on Friday", "周五"), ("sunday", "on Sunday", "周日")],
    [("winter", "in winter", "冬天"), ("summer", "in summer", "夏天"), ("autumn", "in autumn", "秋天")],
    [("small", "for the small one", "小的"), ("large", "for the large one", "大的")],
    [("home", "at home", "家里"), ("office", "in the office", "办公室")],
]
# key, kind, how one asks for it, Chinese.
MEASURES = [
    ("temperature", "num -10 40 1", "how warm is it", "温度"),
    ("price", "amount", "what does it cost", "价格"),
    ("count", "int 1 900", "how many are there", "数量"),
    ("time", "time", "at what time is it", "时间"),
    ("visitors", "int 3 5000", "how many people come", "人数"),
    ("length_m", "num 1 90 1", "how long is it", "长度"),
    ("depth_cm", "int 1 400", "how deep is it", "深度"),
    ("weight_kg", "num 1 90 1", "how heavy is it", "重量"),
    ("speed", "int 2 200", "how fast is it", "速度"),
    ("staff", "person", "who is there", "值班人"),
    ("level_pct", "int 1 100", "how full is it", "存量"),
    ("code", "code", "what is the code", "代码"),
    ("rain_mm", "int 0 90", "how much rain fell", "雨量"),
    ("opens", "time", "when does it open", "开门时间"),
    ("closes", "time", "when does it close", "关门时间"),
]


def draw_question(draw: Draw, nouns: list[tuple[str, ...]], zh: bool) -> RecordQuestion:
    sides, measures = draw.one(SIDES), draw.some(MEASURES, draw.whole(1, 2))
    noun, _, noun_zh = draw.one(nouns)
    subject = str(draw_value(draw, draw.one(["code", "first", "slug", "place"]), zh)[0])
    row = {
        f"{side[0]}_{measure[0]}" if not zh or draw.chance(0.5) else side[2] + measure[3]: (side, measure)
        for side in sides
        for measure in measures
    }
    values = {key: draw_value(draw, measure[1], zh)[0] for key, (_, measure) in row.items()}
    key = draw.one(list(row))
    measure = row[key][1]
    both = draw.chance(0.25)
    keys = [one for one, (_, other) in row.items() if other is measure][:2] if both else [key]
    question, answer = _words(draw, noun_zh if zh else noun.replace("_", " "), subject, keys, row, values, zh)
    return RecordQuestion(
        tool=draw.one(["get_{}", "{}_info", "{}_report", "read_{}"]).format(noun),
        description=f"查询{noun_zh}" if zh else f"What is known of a {noun.replace('_', ' ')}",
        argument=noun,
        subject=subject,
        row=values,
        field=key,
        question=question,
        answer=answer,
        label=key.replace("_", " "),
        noun=noun_zh if zh else noun.replace("_", " "),
        kind="code",
    )


Row = dict[str, tuple[tuple[str, str, str], tuple[str, str, str, str]]]


def _words(
    draw: Draw, noun: str, subject: str, keys: list[str], row: Row, values: dict[str, object], zh: bool
) -> tuple[str, str]:
    measure = row[keys[0]][1]
    if zh:
        sides = "和".join(row[key][0][2] for key in keys)
        each = "，".join(f"{row[key][0][2]}的{measure[3]}是{values[key]}" for key in keys)
        words = [f"{noun}{subject}{sides}的{measure[3]}是多少？", f"{subject}{sides}{measure[3]}多少？"]
        return draw.one(words), f"{subject}{each}。"
    label = measure[0].split("_")[0]
    sides = " and ".join(row[key][0][1] for key in keys)
    each = " and ".join(f"{values[key]} {row[key][0][1]}" for key in keys)
    forms = [
        f"{measure[2]} {sides}, {noun} {subject}?",
        f"the {label} {sides} of {subject}?",
        f"What is the {label} of {noun} {subject} {sides}?",
        f"{subject}: {measure[2]} {sides}?",
    ]
    return draw.one(forms), f"The {label} of {subject} is {each}."

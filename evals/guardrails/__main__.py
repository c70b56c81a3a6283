"""What guardrails find in the sentences of evals/guardrails, as a table in evals/guardrails.md."""

from evals.guardrails.corpus import FOLDER, count_detections

PAGE = FOLDER.with_suffix(".md")
BEGIN = "<!-- figures: written by make eval -->"


def format_table() -> str:
    rows = [
        f"| {what} | {lang} | {count.lines} | {count.expected} | {count.false_positives} | {count.false_negatives} |"
        for (what, lang), count in count_detections().items()
    ]
    heading = "| looked for | language | sentences | to be found | false positives | false negatives |"
    return "\n".join([heading, "|---|---|---|---|---|---|", *rows])


if __name__ == "__main__":
    before = PAGE.read_text("utf-8").partition(BEGIN)[0]
    PAGE.write_text(f"{before}{BEGIN}\n\n{format_table()}\n", "utf-8")
    print(format_table())

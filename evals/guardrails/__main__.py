"""What guardrails find in the sentences of evals/guardrails, as a table in evals/guardrails.md."""

from evals.guardrails.corpus import FOLDER, counts

PAGE = FOLDER.with_suffix(".md")
BEGIN = "<!-- figures: written by make eval -->"


def table() -> str:
    rows = [
        f"| {what} | {lang} | {count.lines} | {count.wanted} | {count.false} | {count.missed} |"
        for (what, lang), count in counts().items()
    ]
    heading = "| looked for | language | sentences | to be found | false positives | false negatives |"
    return "\n".join([heading, "|---|---|---|---|---|---|", *rows])


if __name__ == "__main__":
    before = PAGE.read_text("utf-8").partition(BEGIN)[0]
    PAGE.write_text(f"{before}{BEGIN}\n\n{table()}\n", "utf-8")
    print(table())

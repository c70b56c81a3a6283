"""An OpenAI-compatible endpoint over PocketSphinx: POST /v1/audio/transcriptions, for a small grammar of orders.

Prints its port. The model is the one of the wheel; a grammar makes up for its age.
"""

import email.parser
import email.policy
import importlib
import io
import json
import tempfile
import wave
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any

# Installed in this peer's own environment only, so the project's type checker cannot know it.
pocketsphinx: Any = importlib.import_module("pocketsphinx")
GRAMMAR = """#JSGF V1.0;
grammar orders;
public <order> = <move> | <digit>+ | how are you today;
<move> = (go (forward | back) | turn (left | right)) <digit> (meters | degrees);
<digit> = one | two | three | four | five | six | seven | eight | nine | ten;
"""
RATE = 16_000
FRAMES = 100


def make_decoder() -> Any:
    with tempfile.NamedTemporaryFile("w", suffix=".gram") as file:
        file.write(GRAMMAR)
        file.flush()
        return pocketsphinx.Decoder(samprate=RATE, loglevel="FATAL", lm=None, jsgf=file.name)


def recognise(decoder: Any, audio: bytes) -> dict[str, Any]:
    with wave.open(io.BytesIO(audio)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (RATE, 1, 2)
        count = file.getnframes()
        data = file.readframes(count)
    decoder.start_utt()
    decoder.process_raw(data, full_utt=True)
    decoder.end_utt()
    hypothesis = decoder.hyp()
    words = [word for word in decoder.seg() if not word.word.startswith("<")] if hypothesis else []
    text = hypothesis.hypstr if hypothesis else ""
    times = [{"word": w.word, "start": w.start_frame / FRAMES, "end": w.end_frame / FRAMES} for w in words]
    segments = [{"id": 0, "start": times[0]["start"], "end": times[-1]["end"], "text": text}] if times else []
    return {"text": text, "language": "english", "duration": count / RATE, "segments": segments, "words": times}


def parse_form(content_type: str, body: bytes) -> dict[str, bytes]:
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    parts: Any = message.iter_parts()
    return {part.get_param("name", header="content-disposition"): part.get_payload(decode=True) for part in parts}


class Endpoint(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        fields = parse_form(self.headers["Content-Type"], body)
        # A new one each time: a decoder adapts to what it heard.
        answer = recognise(make_decoder(), fields["file"])
        if fields["response_format"] == b"json":
            answer = {"text": answer["text"]}
        data = json.dumps(answer).encode()
        self.send_response(200 if self.path == "/v1/audio/transcriptions" else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def main() -> None:
    with HTTPServer(("127.0.0.1", 0), Endpoint) as server:
        print(
            json.dumps(
                {
                    "port": server.server_port,
                    "model": Path(pocketsphinx.get_model_path()).name,
                    "version": version("pocketsphinx"),
                }
            ),
            flush=True,
        )
        server.serve_forever()


if __name__ == "__main__":
    main()

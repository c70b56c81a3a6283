// Speech as text: a recording from the microphone, written down by the server's model for it, put into the box.

import { h, put } from "./dom.js";
import { icon } from "./icons.js";
import { learn } from "./words.js";
import * as server from "./server.js";

learn("en", {
  ofSpeech: {
    record: "Speak",
    recording: "Stop recording",
    transcribing: "Writing down …",
    noMicrophone: "The microphone cannot be used. Allow it for this page in the browser.",
    nothingHeard: "Nothing was heard.",
  },
});
learn("zh", {
  ofSpeech: {
    record: "语音输入",
    recording: "停止录音",
    transcribing: "正在转写…",
    noMicrophone: "无法使用麦克风。请在浏览器中允许本页使用麦克风。",
    nothingHeard: "没有听到内容。",
  },
});

const RATE = 16_000;
// The server takes 10 MB in one request: five minutes of this rate.
const LONGEST = 300_000;

export class Microphone {
  constructor(app, heard) {
    this.app = app;
    this.heard = heard;
    const props = { type: "button", class: "icon mic", "aria-pressed": "false" };
    this.button = h("button", { ...props, onclick: () => (this.recorder ? this.stop() : this.start()) });
    this.label("record", "mic");
  }

  /** Only where a model transcribes, and the browser lets a page record. */
  static works(app) {
    return Boolean(app.about.transcribes && navigator.mediaDevices?.getUserMedia && window.MediaRecorder);
  }

  label(word, sign) {
    const text = this.app.words.ofSpeech[word];
    this.button.setAttribute("aria-label", text);
    this.button.title = text;
    this.button.dataset.state = word;
    this.button.setAttribute("aria-pressed", String(word === "recording"));
    put(this.button, sign ? icon(sign) : h("span", { class: "spin" }));
  }

  async start() {
    const { words, chat } = this.app;
    let stream;
    try {
      stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    } catch {
      return chat.tell(words.ofSpeech.noMicrophone);
    }
    chat.tell("");
    const parts = [];
    this.recorder = new MediaRecorder(stream);
    this.recorder.ondataavailable = ({ data }) => parts.push(data);
    this.recorder.onstop = () => {
      stream.getTracks().forEach((track) => track.stop());
      this.transcribe(new Blob(parts, { type: this.recorder.mimeType }));
    };
    this.recorder.start();
    this.timer = setTimeout(() => this.stop(), LONGEST);
    return this.label("recording", "stop");
  }

  stop() {
    clearTimeout(this.timer);
    if (this.recorder?.state === "recording") this.recorder.stop();
  }

  async transcribe(recording) {
    const { words, chat } = this.app;
    this.label("transcribing");
    try {
      const text = await server.transcribe(await waved(recording), "recording.wav");
      if (text.trim()) this.heard(text.trim());
      else chat.tell(words.ofSpeech.nothingHeard);
    } catch (error) {
      chat.tell(error.status ? error.message : words.offline);
    }
    this.recorder = null;
    this.label("record", "mic");
  }
}

/** The recording as a WAV file of one channel: every model for speech takes it, not all take WebM. */
async function waved(recording) {
  const player = new AudioContext({ sampleRate: RATE });
  try {
    const decoded = await player.decodeAudioData(await recording.arrayBuffer());
    return wav(decoded.getChannelData(0), decoded.sampleRate);
  } finally {
    await player.close();
  }
}

function wav(samples, rate) {
  const view = new DataView(new ArrayBuffer(44 + 2 * samples.length));
  const text = (at, word) => [...word].forEach((letter, i) => view.setUint8(at + i, letter.charCodeAt(0)));
  text(0, "RIFF");
  view.setUint32(4, 36 + 2 * samples.length, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, 2 * rate, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, "data");
  view.setUint32(40, 2 * samples.length, true);
  samples.forEach((one, i) => view.setInt16(44 + 2 * i, Math.max(-1, Math.min(1, one)) * 0x7fff, true));
  return new Blob([view.buffer], { type: "audio/wav" });
}

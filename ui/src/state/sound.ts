import { effect } from "@preact/signals";
import { risen } from "./live";
import { sound } from "./prefs";

let audio: AudioContext | undefined;
let lastAt = 0;

/** In a storm one signal says as much as fifty. */
const pauseBetween = 2500;

/** Two short tones, higher for worse trouble. */
export function chime(severity: number): void {
  audio ??= new AudioContext();
  void audio.resume();
  const start = audio.currentTime + 0.02;
  const pitch = 440 + 5 * Math.min(severity, 128);
  [pitch, pitch * 1.5].forEach((frequency, i) => tone(audio!, frequency, start + i * 0.18));
}

function tone(context: AudioContext, frequency: number, at: number): void {
  const [oscillator, gain] = [context.createOscillator(), context.createGain()];
  oscillator.frequency.value = frequency;
  oscillator.type = "triangle";
  gain.gain.setValueAtTime(0, at);
  gain.gain.linearRampToValueAtTime(0.25, at + 0.02);
  gain.gain.exponentialRampToValueAtTime(0.001, at + 0.16);
  oscillator.connect(gain).connect(context.destination);
  oscillator.start(at);
  oscillator.stop(at + 0.17);
}

export function startSound(): void {
  effect(() => {
    const rises = risen.value;
    if (rises.length === 0 || sound.peek() !== "on" || Date.now() - lastAt < pauseBetween) return;
    lastAt = Date.now();
    chime(Math.max(...rises.map((r) => r.state.severity)));
  });
}

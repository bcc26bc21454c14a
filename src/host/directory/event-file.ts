/**
 * Writes resource Events as lines of JSON, newest last:
 * `{"time":"…Z","type":"Warning","kind":"…","namespace":"…","name":"…","reason":"…","message":"…"}`.
 *
 * When the file reaches `maxFileBytes`, it is renamed to `events.1.ndjson`. Callers never wait for a write. Events that
 * cannot be written are dropped.
 */
import { appendFile, rename, stat } from 'node:fs/promises';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { isoText } from '../../base/time-text.ts';
import type { OwnerRef, ResourceEvent } from '../host.ts';

const maxFileBytes = 1024 * 1024;
const maxPending = 1_000;

export class EventFile {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #log: Logger;

  /** Events that have not been written yet, as lines of JSON. */
  #pending: string[] = [];
  #writing: Promise<void> | undefined;

  constructor(path: string, clock: Clock, log: Logger) {
    this.#path = path;
    this.#clock = clock;
    this.#log = log;
  }

  append({ kind, namespace, name }: OwnerRef, { type, reason, message }: ResourceEvent): void {
    if (this.#pending.length >= maxPending) return;
    const time = isoText(this.#clock.now());
    this.#pending.push(`${JSON.stringify({ time, type, kind, namespace, name, reason, message })}\n`);
    this.#writing ??= this.#write();
  }

  /** Resolves when all Events have been written or dropped. */
  async flushed(): Promise<void> {
    await this.#writing;
  }

  async #write(): Promise<void> {
    while (this.#pending.length > 0) {
      const lines = this.#pending;
      this.#pending = [];
      try {
        await this.#rotate();
        await appendFile(this.#path, lines.join(''), { mode: 0o600 });
      } catch (error) {
        this.#log.warn('events were dropped', { count: lines.length, error });
      }
    }
    this.#writing = undefined;
  }

  async #rotate(): Promise<void> {
    const size = (await stat(this.#path).catch(() => undefined))?.size ?? 0;
    if (size >= maxFileBytes) await rename(this.#path, this.#path.replace(/\.ndjson$/, '.1.ndjson'));
  }
}

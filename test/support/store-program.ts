/** Object store for tests, which can kill it and restart it with the same address and content. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { request } from 'undici';
import { freePorts, type SupervisedProgram, startSupervised } from './supervised-program.ts';

const readyTimeoutMs = 600_000;
const readyPollMs = 20;
const attempts = 3;

export interface StoreCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

export abstract class StoreProgram {
  readonly #directory: string;
  #program: SupervisedProgram | undefined;

  /** @param name name of the store, which becomes part of its folder's name */
  protected constructor(name: string) {
    this.#directory = mkdtempSync(join(tmpdir(), `logfleet-${name}-`));
    process.once('exit', this.#removeFiles);
  }

  /** Starts the store on a free port. Tries again if another process has taken the port. */
  protected static async startOn<S extends StoreProgram>(create: (port: number) => S): Promise<S> {
    for (let attempt = 1; ; attempt++) {
      const [port = 0] = await freePorts(1);
      const store = create(port);
      try {
        await store.restart();
        return store;
      } catch (error) {
        await store.stop();
        if (attempt === attempts) throw error;
      }
    }
  }

  protected get content(): string {
    return join(this.#directory, 'content');
  }

  protected abstract get endpoint(): string;

  protected abstract command(): StoreCommand;

  /** Kills the store, as `kill -9` does. */
  async kill(): Promise<void> {
    await this.#program?.stop();
    this.#program = undefined;
  }

  async restart(): Promise<void> {
    const { program, args, environment } = this.command();
    this.#program = startSupervised(join(this.#directory, 'run'), program, args, environment);
    const deadline = performance.now() + readyTimeoutMs;
    while (!(await answers(this.endpoint))) {
      if (!this.#program.runs() || performance.now() > deadline) {
        throw new Error(`${this.constructor.name} did not start:\n${this.#program.log()}`);
      }
      await delay(readyPollMs);
    }
  }

  async stop(): Promise<void> {
    await this.kill();
    process.removeListener('exit', this.#removeFiles);
    this.#removeFiles();
  }

  readonly #removeFiles = () => rmSync(this.#directory, { recursive: true, force: true });
}

async function answers(endpoint: string): Promise<boolean> {
  try {
    const { body } = await request(endpoint);
    await body.dump();
    return true;
  } catch {
    return false;
  }
}

/**
 * Runs Azurite, an emulator of Azure Blob Storage, which stores blobs in a folder of its own. Tests can kill it and restart it with the
 * same address and with the content that it has saved.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { request } from 'undici';
import { azuriteScript } from '../../tools/installer/azurite.ts';
import { freePorts, type Kept, keep } from './kept-program.ts';

/** Address and credentials with which a test connects to Azurite. They are plain data, because they are passed between processes. */
export interface AzuriteAccess {
  /** Address of the account, such as `http://127.0.0.1:PORT/devstoreaccount1`. */
  readonly endpoint: string;
  readonly accountName: string;
  readonly accountKey: string;
}

/** Account and key that every Azurite has, and that its documentation publishes. */
const accountName = 'devstoreaccount1';
const accountKey = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

const readyTimeoutMs = 180_000;
const readyPollMs = 50;
const attempts = 3;

export class Azurite {
  readonly access: AzuriteAccess;
  readonly #script: string;
  readonly #directory: string;
  readonly #port: number;
  #kept: Kept | undefined;

  /** Starts Azurite. Tries again if another process took the port. */
  static async start(): Promise<Azurite> {
    const script = await azuriteScript();
    for (let attempt = 1; ; attempt++) {
      const [port = 0] = await freePorts(1);
      const azurite = new Azurite(script, mkdtempSync(join(tmpdir(), 'logfleet-azurite-')), port);
      try {
        await azurite.restart();
        return azurite;
      } catch (error) {
        await azurite.stop();
        if (attempt === attempts) throw error;
      }
    }
  }

  private constructor(script: string, directory: string, port: number) {
    this.#script = script;
    this.#directory = directory;
    this.#port = port;
    this.access = { endpoint: `http://127.0.0.1:${port}/${accountName}`, accountName, accountKey };
    process.once('exit', this.#removeFiles);
  }

  /** Kills Azurite as `kill -9` does. Requests in flight break off. */
  async kill(): Promise<void> {
    await this.#kept?.stop();
    this.#kept = undefined;
  }

  /** Returns whether Azurite has saved a blob, so that a kill does not lose it. Azurite saves its index every five seconds. */
  hasSaved(blob: string): boolean {
    const index = join(this.#directory, 'content', '__azurite_db_blob__.json');
    return existsSync(index) && readFileSync(index, 'utf8').includes(blob);
  }

  /** Restarts Azurite, and resolves when it answers again. */
  async restart(): Promise<void> {
    const place = ['--blobPort', String(this.#port), '--location', join(this.#directory, 'content')];
    // Azurite refuses API versions that are newer than itself, and reports its use unless told not to.
    const manner = ['--silent', '--skipApiVersionCheck', '--disableTelemetry'];
    this.#kept = keep(join(this.#directory, 'run'), process.execPath, [this.#script, ...place, ...manner]);
    const deadline = performance.now() + readyTimeoutMs;
    while (!(await answers(this.access.endpoint))) {
      if (!this.#kept.runs() || performance.now() > deadline) throw new Error(`no Azurite:\n${this.#kept.log()}`);
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

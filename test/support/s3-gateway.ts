/**
 * Runs a real S3 gateway, which stores objects in a folder of its own. Tests can kill the gateway and restart it with the same
 * address and content.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { request } from 'undici';
import { s3GatewayProgram } from '../../tools/installer/s3-gateway.ts';
import { freePorts, type Kept, keep } from './kept-program.ts';

/**
 * Address and credentials with which a test connects to the S3 gateway. They are plain data, because they are passed between
 * processes.
 */
export interface S3GatewayAccess {
  /** Address of the gateway, such as `http://127.0.0.1:PORT`. */
  readonly endpoint: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Path of the folder in which the gateway stores objects, with one subfolder for each bucket. */
  readonly content: string;
}

const readyTimeoutMs = 180_000;
const readyPollMs = 20;
const attempts = 3;

export class S3Gateway {
  readonly access: S3GatewayAccess;
  readonly #program: string;
  readonly #directory: string;
  #kept: Kept | undefined;

  /** Starts an S3 gateway. Tries again if another process took the port. */
  static async start(): Promise<S3Gateway> {
    const program = await s3GatewayProgram();
    for (let attempt = 1; ; attempt++) {
      const [port] = await freePorts(1);
      const gateway = new S3Gateway(program, mkdtempSync(join(tmpdir(), 'logfleet-s3-')), `127.0.0.1:${port}`);
      try {
        await gateway.restart();
        return gateway;
      } catch (error) {
        await gateway.stop();
        if (attempt === attempts) throw error;
      }
    }
  }

  private constructor(program: string, directory: string, address: string) {
    this.#program = program;
    this.#directory = directory;
    const content = join(directory, 'content');
    mkdirSync(content);
    this.access = {
      endpoint: `http://${address}`,
      accessKeyId: 'test-key',
      secretAccessKey: randomBytes(12).toString('hex'),
      content,
    };
    process.once('exit', this.#removeFiles);
  }

  /** Kills the gateway as `kill -9` does. Requests in flight break off. */
  async kill(): Promise<void> {
    await this.#kept?.stop();
    this.#kept = undefined;
  }

  /** Restarts the gateway, and resolves when the gateway answers again. */
  async restart(): Promise<void> {
    const { endpoint, accessKeyId, secretAccessKey, content } = this.access;
    const args = ['--port', new URL(endpoint).host, '--keep-alive', '--quiet', 'posix', content];
    const environment = { ROOT_ACCESS_KEY: accessKeyId, ROOT_SECRET_KEY: secretAccessKey };
    this.#kept = keep(join(this.#directory, 'run'), this.#program, args, environment);
    const deadline = performance.now() + readyTimeoutMs;
    while (!(await answers(endpoint))) {
      if (!this.#kept.runs() || performance.now() > deadline) throw new Error(`no S3 gateway:\n${this.#kept.log()}`);
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

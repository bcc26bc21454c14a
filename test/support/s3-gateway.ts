/** Runs a real S3 gateway, which tests can kill and restart with all its objects. */
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { s3GatewayProgram } from '../../tools/installer/s3-gateway.ts';
import { type StoreCommand, StoreProgram } from './store-program.ts';

/** Address and credentials of the S3 gateway, in a form that can be passed between processes. */
export interface S3GatewayAccess {
  /** Address of the gateway, such as `http://127.0.0.1:PORT`. */
  readonly endpoint: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Folder for the gateway's objects, with a subfolder per bucket. */
  readonly content: string;
}

export class S3Gateway extends StoreProgram {
  readonly access: S3GatewayAccess;
  readonly #program: string;
  /** Folder for old versions of objects, or undefined if the gateway does not keep them. */
  readonly #versions: string | undefined;

  static async start({ keepsVersions = false } = {}): Promise<S3Gateway> {
    const program = await s3GatewayProgram();
    return StoreProgram.startOn((port) => new S3Gateway(program, port, keepsVersions));
  }

  private constructor(program: string, port: number, keepsVersions: boolean) {
    super('s3');
    this.#program = program;
    const { content } = this;
    mkdirSync(content);
    this.#versions = keepsVersions ? join(content, '..', 'versions') : undefined;
    if (this.#versions) mkdirSync(this.#versions);
    this.access = {
      endpoint: `http://127.0.0.1:${port}`,
      accessKeyId: 'test-key',
      secretAccessKey: randomBytes(12).toString('hex'),
      content,
    };
  }

  protected get endpoint(): string {
    return this.access.endpoint;
  }

  protected command(): StoreCommand {
    const { endpoint, accessKeyId, secretAccessKey, content } = this.access;
    const versions = this.#versions ? ['--versioning-dir', this.#versions] : [];
    return {
      program: this.#program,
      args: ['--port', new URL(endpoint).host, '--keep-alive', '--quiet', 'posix', ...versions, content],
      environment: { ROOT_ACCESS_KEY: accessKeyId, ROOT_SECRET_KEY: secretAccessKey },
    };
  }
}

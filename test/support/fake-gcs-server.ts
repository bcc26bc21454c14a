/** Runs fake-gcs-server, an in-memory emulator of Google Cloud Storage. */
import { generateKeyPairSync } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { fakeGcsServerProgram } from '../../tools/installer/fake-gcs-server.ts';
import { type StoreCommand, StoreProgram } from './store-program.ts';

/** Address and credentials of fake-gcs-server, in a form that can be passed between processes. */
export interface FakeGcsServerAccess {
  /** Address of the emulator, such as `http://127.0.0.1:PORT`. */
  readonly endpoint: string;
  /** Path of a service account key file. The emulator does not check the key. */
  readonly serviceAccountKey: string;
}

export class FakeGcsServer extends StoreProgram {
  readonly access: FakeGcsServerAccess;
  readonly #program: string;

  static async start(): Promise<FakeGcsServer> {
    const program = await fakeGcsServerProgram();
    return StoreProgram.startOn((port) => new FakeGcsServer(program, port));
  }

  private constructor(program: string, port: number) {
    super('gcs');
    this.#program = program;
    this.access = { endpoint: `http://127.0.0.1:${port}`, serviceAccountKey: newServiceAccountKey() };
  }

  protected get endpoint(): string {
    return this.access.endpoint;
  }

  protected command(): StoreCommand {
    const { hostname, port } = new URL(this.endpoint);
    const address = ['-scheme', 'http', '-host', hostname, '-port', port];
    return { program: this.#program, args: [...address, '-backend', 'memory', '-log-level', 'error'] };
  }
}

export async function createGcsBucket(endpoint: string, bucket: string): Promise<void> {
  const { status } = await fetch(`${endpoint}/storage/v1/b`, {
    method: 'POST',
    body: JSON.stringify({ name: bucket }),
  });
  if (status !== 200) throw new Error(`creating the bucket returned ${status}`);
}

/** Returns the content of a new service account key file. */
export function newServiceAccountKey(): string {
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  return JSON.stringify({
    type: 'service_account',
    private_key_id: 'key-1',
    private_key: privateKey,
    client_email: 'exporter@example.iam.gserviceaccount.com',
  });
}

/** Sends the token of a pod, as the metadata server of Google Cloud does. */
export function sendPodToken(response: ServerResponse): void {
  const token = { access_token: 'token-of-the-pod', expires_in: 3_600, token_type: 'Bearer' };
  response.writeHead(200, { 'metadata-flavor': 'Google', 'content-type': 'application/json' });
  response.end(JSON.stringify(token));
}

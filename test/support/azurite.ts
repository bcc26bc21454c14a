/** Runs Azurite, an Azure Blob Storage emulator, which tests can kill and restart. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { azuriteScript } from '../../tools/installer/azurite.ts';
import { type StoreCommand, StoreProgram } from './store-program.ts';

/** Address and credentials of Azurite, in a form that can be passed between processes. */
export interface AzuriteAccess {
  /** Account URL, such as `http://127.0.0.1:PORT/devstoreaccount1`. */
  readonly endpoint: string;
  readonly accountName: string;
  readonly accountKey: string;
}

/** Well-known account name and key of every Azurite. */
const accountName = 'devstoreaccount1';
const accountKey = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

export class Azurite extends StoreProgram {
  readonly access: AzuriteAccess;
  readonly #script: string;
  readonly #port: number;

  static async start(): Promise<Azurite> {
    const script = await azuriteScript();
    return StoreProgram.startOn((port) => new Azurite(script, port));
  }

  private constructor(script: string, port: number) {
    super('azurite');
    this.#script = script;
    this.#port = port;
    this.access = { endpoint: `http://127.0.0.1:${port}/${accountName}`, accountName, accountKey };
  }

  protected get endpoint(): string {
    return this.access.endpoint;
  }

  protected command(): StoreCommand {
    const place = ['--blobPort', String(this.#port), '--location', this.content];
    // These flags make Azurite accept newer API versions, and disable its telemetry.
    const manner = ['--silent', '--skipApiVersionCheck', '--disableTelemetry'];
    return { program: process.execPath, args: [this.#script, ...place, ...manner] };
  }

  /**
   * Reports whether the blob would survive if Azurite were killed. Azurite has an index of blobs and an index of their
   * contents (extents), and saves each index only every five seconds.
   */
  hasSaved(blob: string): boolean {
    const blobs = this.#index('__azurite_db_blob__.json');
    const extents = this.#index('__azurite_db_blob_extent__.json');
    const used = [...blobs.matchAll(/"persistency":\{"id":"([^"]+)"/g)];
    return blobs.includes(blob) && used.every(([, id = '']) => extents.includes(id));
  }

  #index(name: string): string {
    const file = join(this.content, name);
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }
}

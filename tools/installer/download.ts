/** Downloads files over HTTPS, and extracts programs from archives. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EnvHttpProxyAgent, fetch } from 'undici';

/**
 * Time limit for opening a connection, in ms. It is short, so that downloads fail quickly on a machine without internet
 * access.
 */
const connectTimeoutMs = 5_000;

/** Downloads a file. Error messages begin with the hostname. */
export async function get(url: string, timeoutMs: number): Promise<Uint8Array> {
  const dispatcher = new EnvHttpProxyAgent({ connect: { timeout: connectTimeoutMs } });
  try {
    const response = await fetch(url, { dispatcher, signal: AbortSignal.timeout(timeoutMs) });
    if (!response.ok) throw new Error(`${url} responded with status ${response.status}`);
    return new Uint8Array(await response.arrayBuffer());
  } catch (error) {
    throw new Error(`${new URL(url).host}: ${reasonOf(error)}`, { cause: error });
  } finally {
    await dispatcher.close();
  }
}

function reasonOf(error: unknown): string {
  const cause = (error as { cause?: unknown }).cause ?? error;
  return cause instanceof Error ? cause.message || cause.name : String(cause);
}

/** Extracts `programs` from a folder of a .tar.gz archive into `directory`. */
export function unpack(archive: Uint8Array, folder: string, programs: readonly string[], directory: string): void {
  const scratch = mkdtempSync(join(tmpdir(), 'logfleet-archive-'));
  try {
    const file = join(scratch, 'archive.tar.gz');
    writeFileSync(file, archive);
    execFileSync('tar', ['-xzf', file, '-C', scratch]);
    for (const program of programs) copyFileSync(join(scratch, folder, program), join(directory, program));
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

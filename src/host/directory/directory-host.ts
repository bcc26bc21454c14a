/**
 * Host for running the operator on directories of manifest files instead of in a Kubernetes cluster. Status and ledgers
 * are stored in the folder `.logfleet` next to the manifests. A lock file takes the place of leader election.
 */
import { readdir, realpath, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { renderExplanation, renderFinding } from '../../api/finding.ts';
import { referenceOf } from '../../api/kinds.ts';
import { failure, isFileAbsent, type LogfleetError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { Ports } from '../../base/ports.ts';
import type { SecretText } from '../../base/secret-text.ts';
import { shellWord } from '../../base/shell-word.ts';
import { TroubleLines } from '../../base/trouble-lines.ts';
import type { EventSink, Host, OperatorSettings, OwnerRef, SecretReader } from '../host.ts';
import { ChangeWatch } from './change-watch.ts';
import { DirectoryContents } from './directory-contents.ts';
import { directoryError, makeFolder, removeTemporaryFiles } from './durable-file.ts';
import { EventFile } from './event-file.ts';
import { DirectoryLeadership, ProcessLock, refuseOverlap } from './process-lock.ts';
import { type Notice, renderNotice } from './resource-records.ts';
import { StateDirectory } from './state-directory.ts';

export interface DirectoryHostOptions extends Omit<Ports, 'metrics'> {
  /** Manifest directories. The state of each directory is stored in its subfolder `.logfleet`. */
  readonly directories: readonly string[];
  /**
   * Values from environment variables such as `LOGFLEET_BASE_URL`, indexed by the corresponding key of a Secret. They
   * are used in place of every Secret that has no manifest.
   */
  readonly secretsFromEnvironment?: ReadonlyMap<string, SecretText> | undefined;
  /** Aborts the opening of the directories, which can take a minute. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Opens the manifest directories and loads all resources. Fails with `host.directory` if a path is not a directory,
 * with `host.locked` if another process is using a directory, and with `host.disk` if the state cannot be written.
 * Rejects with the signal's reason if the signal is aborted.
 */
export async function createDirectoryHost(options: DirectoryHostOptions): Promise<DirectoryHost> {
  const directories = await distinctDirectories(options.directories);
  const locks = await acquireAll(directories, options);
  try {
    await refuseOverlaps(directories, options);
    for (const directory of directories) await prepareState(new StateDirectory(directory));
    const host = new DirectoryHost(directories, locks, options);
    await host.open();
    return host;
  } catch (error) {
    await releaseAll(locks);
    throw error;
  }
}

export class DirectoryHost extends DirectoryContents implements Host {
  readonly isCluster = false;
  readonly leadership: DirectoryLeadership;
  readonly secrets: SecretReader;
  readonly events: EventSink;
  /** Resolves with an error when another process has taken over one of the directories. */
  readonly lost: Promise<LogfleetError>;
  readonly #locks: readonly ProcessLock[];
  readonly #watch: ChangeWatch;
  readonly #eventFiles: ReadonlyMap<string, EventFile>;
  readonly #log: Logger;
  readonly #troubles: TroubleLines;
  readonly #notices: string[] = [];
  #reported: OperatorSettings = {};

  constructor(directories: readonly string[], locks: readonly ProcessLock[], options: DirectoryHostOptions) {
    const { clock, random, log, secretsFromEnvironment, signal } = options;
    super({ directories, clock, random, isOperator: true, signal });
    this.#locks = locks;
    this.lost = Promise.race(locks.map((lock) => lock.lost));
    this.#log = log;
    this.#troubles = new TroubleLines(clock, (line) => log.warn(line));
    this.#watch = new ChangeWatch({ clock, onChange: () => this.refresh() });
    this.#eventFiles = new Map(
      directories.map((directory) => [directory, new EventFile(new StateDirectory(directory).eventFile, clock, log)]),
    );
    this.leadership = new DirectoryLeadership(locks);
    this.secrets = {
      get: async (key) => this.secret(key) ?? secretsFromEnvironment,
      takesVariables: (key) => this.secret(key) === undefined,
    };
    this.events = { publish: (owner, event) => this.#eventFileOf(owner)?.append(owner, event) };
    this.subscribeSettings(() => this.#logSettings());
  }

  /** Returns messages about manifests that have been deleted or have reappeared since this process started. */
  notices(): readonly string[] {
    return this.#notices;
  }

  commandFlags(resource: OwnerRef): string {
    return flagsIn(resource.namespace, this.directoryOf(resource));
  }

  override async open(): Promise<void> {
    await super.open();
    this.#watch.follow(this.folders());
  }

  override async refresh(): Promise<void> {
    try {
      await super.refresh();
      this.#watch.follow(this.folders());
    } catch (error) {
      this.#log.warn('the manifests could not be read; logfleet will retry soon', { error });
    }
  }

  /** Finishes pending writes and releases the locks. Call this method after the controllers have stopped. */
  override async close(): Promise<void> {
    this.#watch.close();
    await super.close();
    await this.ledgerQueue.drained();
    for (const file of this.#eventFiles.values()) await file.flushed();
    await releaseAll(this.#locks);
  }

  /** Returns the file that receives a resource's Events. A deleted resource's Events go to the first directory. */
  #eventFileOf(owner: OwnerRef): EventFile | undefined {
    const directory = this.directoryOf(owner);
    return directory === undefined ? this.#eventFiles.values().next().value : this.#eventFiles.get(directory);
  }

  protected override onNotice(notice: Notice): void {
    const { kind, metadata } = notice.record.resource;
    const { namespace, name, uid } = metadata;
    const target = `${referenceOf(kind, metadata)}${flagsIn(namespace, notice.record.directory)}`;
    const message = renderNotice(notice, `logfleet forget ${target}`);
    this.#notices.push(message);
    this.#log.warn(message);
    const isRetained = notice.kind === 'retained';
    const reason = isRetained ? 'ManifestRemoved' : 'ManifestRestored';
    this.events.publish({ kind, namespace, name, uid }, { type: isRetained ? 'Warning' : 'Normal', reason, message });
  }

  #logSettings(): void {
    const { pausedBy, upgradesBlocked } = this.settings();
    const before = this.#reported;
    this.#reported = this.settings();
    if (upgradesBlocked !== undefined && upgradesBlocked !== before.upgradesBlocked) this.#log.warn(upgradesBlocked);
    if (upgradesBlocked === undefined && before.upgradesBlocked !== undefined) {
      this.#log.info('all manifests in the directory are usable again, so policies may start upgrades');
    }
    if (pausedBy !== undefined && pausedBy !== before.pausedBy)
      this.#log.warn('all resources are paused, so no new work starts', { pausedBy });
    if (pausedBy === undefined && before.pausedBy !== undefined)
      this.#log.info('the pause has ended, so new work may start');
  }

  /**
   * Logs each new problem with manifests once. A directory that is unavailable, or whose lock file cannot be updated,
   * counts as an outage and is logged repeatedly (H2).
   */
  protected override onReading(hasNewProblems: boolean): void {
    for (const [index, directory] of [...this.#eventFiles.keys()].entries()) {
      const problem = this.problems().find(({ file }) => file === directory) ?? this.#locks[index]?.problem;
      if (problem) this.#troubles.failed(directory, renderExplanation(problem));
      else this.#troubles.works(directory);
    }
    if (!hasNewProblems) return;
    for (const problem of this.problems())
      if (!this.#eventFiles.has(problem.file)) this.#log.warn(renderFinding(problem));
  }
}

/**
 * Removes duplicates from a list of directories. Different paths to the same directory are also duplicates; the first
 * path is kept.
 */
async function distinctDirectories(directories: readonly string[]): Promise<readonly string[]> {
  const byPath = new Map<string, string>();
  for (const directory of directories) {
    const path = await existingDirectory(directory);
    if (!byPath.has(path)) byPath.set(path, directory);
  }
  return [...byPath.values()];
}

async function existingDirectory(directory: string): Promise<string> {
  try {
    if ((await stat(directory)).isDirectory()) return await realpath(directory);
  } catch (error) {
    if (!isFileAbsent(error)) throw error;
  }
  throw failure('stall', 'host.directory', `${directory} is not a directory; specify a directory of manifests`);
}

async function acquireAll(
  directories: readonly string[],
  { clock, random, log, signal }: DirectoryHostOptions,
): Promise<ProcessLock[]> {
  const locks: ProcessLock[] = [];
  try {
    for (const directory of directories) {
      locks.push(await ProcessLock.acquire(new StateDirectory(directory), { clock, random, log, signal }));
    }
    return locks;
  } catch (error) {
    await releaseAll(locks);
    throw error;
  }
}

/**
 * Fails with `host.locked` if another process uses a directory that contains one of the given directories or is inside
 * one of them (D6). Call this function only while this process holds the locks of the given directories. Of two
 * processes that start at the same time, at least one then notices the other.
 */
async function refuseOverlaps(directories: readonly string[], options: DirectoryHostOptions): Promise<void> {
  const own = new Set(await Promise.all(directories.map((directory) => realpath(directory))));
  for (const directory of own) {
    for await (const other of overlapping(directory)) {
      if (!own.has(other)) await refuseOverlap(other, directory, options);
    }
  }
}

/**
 * Yields the folders above and below `directory`. If another operator runs in one of these folders, it reads some of
 * the same manifests. Folders whose names begin with a dot are left out, because an operator does not read them.
 */
async function* overlapping(directory: string): AsyncGenerator<string, void> {
  for (let inner = directory; !basename(inner).startsWith('.') && dirname(inner) !== inner; inner = dirname(inner)) {
    yield dirname(inner);
  }
  const waiting = [directory];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    if (folder !== directory) yield folder;
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      if (entry.isDirectory() && !entry.name.startsWith('.')) waiting.push(join(folder, entry.name));
    }
  }
}

async function releaseAll(locks: readonly ProcessLock[]): Promise<void> {
  for (const lock of locks) await lock.release();
}

/**
 * Creates the state folder `.logfleet` of a manifest directory, with a `.gitignore` file and a folder for requests. Fails
 * with `host.disk` if the folder cannot be written.
 */
async function prepareState(state: StateDirectory): Promise<void> {
  try {
    for (const folder of state.ownFolders) await removeTemporaryFiles(folder);
    await makeFolder(state.requestFolder);
    await writeFile(join(state.folder, '.gitignore'), '*\n');
  } catch (cause) {
    throw directoryError('write', state.folder, cause);
  }
}

/** Returns the flags that other logfleet commands need to find the resources in this namespace and directory. */
function flagsIn(namespace: string, directory: string | undefined): string {
  return ` -n ${namespace}${directory === undefined ? '' : ` --dir ${shellWord(directory)}`}`;
}

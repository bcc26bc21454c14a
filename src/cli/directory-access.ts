/**
 * `ResourceReader` on a directory of manifests: reads manifests and the status beside them, and asks by files in
 * `DIR/.logfleet/requests/`. Works beside an operator that holds the directory's lock, and without one.
 */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { KindName } from '../api/kinds.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { type Random, systemRandom } from '../base/random.ts';
import { DirectoryView } from '../host/directory/directory-view.ts';
import { renderProblem } from '../host/directory/problem.ts';
import { isSurelyFree } from '../host/directory/process-lock.ts';
import { writeRequest } from '../host/directory/requests.ts';
import { StateDirectory } from '../host/directory/state-directory.ts';
import type { ResourceKey } from '../host/host.ts';
import type { CommandContext } from './context.ts';
import { currentUser } from './current-user.ts';
import { counted } from './render/counted.ts';
import { type Annotation, type AnyResource, byNamespaceAndName, type ResourceReader } from './resource-access.ts';
import { shellWord } from './target-flags.ts';
import { UsageError } from './usage-error.ts';

interface DirectoryPorts {
  readonly clock: Clock;
  readonly random: Random;
  /** Who types the command, where that is known. */
  readonly user: () => string | undefined;
}

/** Tells on stderr which manifests cannot be used, since their resources may be missing from what is shown. */
export async function openDirectory(
  dir: string,
  context: CommandContext,
  ports: DirectoryPorts = { clock: systemClock, random: systemRandom, user: currentUser },
): Promise<ResourceReader> {
  const directory = await existingDirectory(dir, context);
  const view = await DirectoryView.open({ directories: [directory], ...ports });
  const [first, ...others] = view.problems().filter(({ severity }) => severity === 'error');
  if (first) context.stderr.write(`${renderProblem(first)}\n`);
  // What was asked for is mostly about another manifest.
  if (others.length > 0) {
    const rest = `and ${counted(others.length, 'more error')} in the manifests`;
    context.stderr.write(`${rest}; logfleet validate ${shellWord(dir)} lists them\n`);
  }
  return new DirectoryReader(dir, directory, view, ports);
}

/** Absolute. Wrong usage where there is none. */
export async function existingDirectory(dir: string, { cwd }: Pick<CommandContext, 'cwd'>): Promise<string> {
  const directory = resolve(cwd, dir);
  if (await isDirectory(directory)) return directory;
  throw new UsageError(`--dir ${dir} is no directory; name the one that holds the manifests, as in --dir ./policies`);
}

/** That no process works on a directory, and what to type; undefined where one may. `dir` is the name on the command line. */
export async function idleNoteOf(dir: string, directory: string): Promise<string | undefined> {
  if (!(await isSurelyFree(new StateDirectory(directory)))) return undefined;
  return `No process works on ${dir}, so that nothing happens there. Start one: logfleet run ${shellWord(dir)}`;
}

class DirectoryReader implements ResourceReader {
  readonly place: string;
  /** A directory is small and was named: a name may be in any of its namespaces. */
  readonly defaultNamespace = undefined;
  readonly #directory: string;
  readonly #view: DirectoryView;
  readonly #ports: DirectoryPorts;

  constructor(place: string, directory: string, view: DirectoryView, ports: DirectoryPorts) {
    this.place = place;
    this.#directory = directory;
    this.#view = view;
    this.#ports = ports;
  }

  async list(kind: KindName, namespace: string | undefined): Promise<readonly AnyResource[]> {
    return inOrder(this.#view.resources(kind).list(), namespace);
  }

  async get(kind: KindName, key: ResourceKey): Promise<AnyResource | undefined> {
    const resource = this.#view.resources(kind).get(key);
    return resource && withoutWriters(resource);
  }

  async follow(
    kind: KindName,
    namespace: string | undefined,
    onChange: (resources: readonly AnyResource[]) => void,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#view.follow(kind, (resources) => onChange(inOrder(resources, namespace)), signal);
  }

  async annotate(kind: KindName, key: ResourceKey, { name, value }: Annotation): Promise<void> {
    const { clock, user } = this.#ports;
    await writeRequest(this.#directory, kind, key, { [name]: value ?? null }, { by: user(), atMs: clock.now() });
  }

  async idleNote(): Promise<string | undefined> {
    return idleNoteOf(this.place, this.#directory);
  }

  async close(): Promise<void> {}
}

function inOrder(resources: Iterable<AnyResource>, namespace: string | undefined): readonly AnyResource[] {
  return [...resources]
    .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
    .map(withoutWriters)
    .sort(byNamespaceAndName);
}

/** Who wrote annotations is for the operator: no manifest has such a member. */
function withoutWriters(resource: AnyResource): AnyResource {
  const { annotationWriters: _, ...metadata } = resource.metadata;
  return { ...resource, metadata };
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

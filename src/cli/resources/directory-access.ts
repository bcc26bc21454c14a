/**
 * Reads and annotates resources in a directory of manifests. Annotations become requests in `DIR/.logfleet/requests/`.
 */

import { userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { renderFinding } from '../../api/finding.ts';
import type { AnyResource } from '../../api/kinds.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { counted } from '../../base/number-text.ts';
import { systemRandom } from '../../base/random.ts';
import { shellWord } from '../../base/shell-word.ts';
import { DirectoryView } from '../../host/directory/directory-view.ts';
import { isFolder } from '../../host/directory/durable-file.ts';
import { isSurelyFree } from '../../host/directory/process-lock.ts';
import { retainedUntil } from '../../host/directory/resource-records.ts';
import { StateDirectory } from '../../host/directory/state-directory.ts';
import { writeUserRequest } from '../../host/directory/user-requests.ts';
import type { CommandContext } from '../command/context.ts';
import { invocation } from '../command/invocation.ts';
import { UsageError } from '../command/usage-error.ts';
import { byNamespaceAndName, type ResourceReader } from './resource-reader.ts';

interface DirectoryPorts {
  readonly clock: Clock;
  /** Returns the user name to write into request files. Returns undefined if the name is unknown. */
  readonly user: () => string | undefined;
}

/** Opens a directory of manifests. */
export async function openDirectory(
  dir: string,
  context: CommandContext,
  ports: DirectoryPorts = { clock: systemClock, user: currentUser },
): Promise<ResourceReader> {
  const { directory, view } = await openView(dir, context, ports.clock);
  return {
    isDirectory: true,
    place: dir,
    // A directory has no default namespace: a name without a namespace is searched for in all namespaces.
    defaultNamespace: undefined,
    list: async (kind, namespace) => inOrder(view.resources(kind).list(), namespace),
    get: async (kind, key) => {
      const resource = view.resources(kind).get(key);
      return resource && withoutWriters(resource);
    },
    secrets: { get: async (key) => view.secret(key) },
    ledgers: view.ledgers,
    follow: (kind, namespace, onChange, signal, onTrouble = () => {}) => {
      const reportTrouble = () => {
        const lines = renderErrors(dir, view);
        onTrouble(lines.length === 0 ? undefined : lines.join('. '));
      };
      return view.follow(kind, (resources) => onChange(inOrder(resources, namespace)), signal, reportTrouble);
    },
    warnOfErrors: () =>
      context.stderr.write(
        renderErrors(dir, view)
          .map((line) => `${line}\n`)
          .join(''),
      ),
    annotate: (kind, key, { name, value }) =>
      writeUserRequest(directory, kind, key, { [name]: value ?? null }, { by: ports.user(), atMs: ports.clock.now() }),
    pauseOfAll: () => view.settings(),
    idleNote: () => idleNoteOf(dir, directory, view),
    retained: () =>
      [...view.retained()]
        .sort((left, right) => byNamespaceAndName(left.resource, right.resource))
        .map((record) => {
          const { namespace, name } = record.resource.metadata;
          const file = join(record.directory === directory ? dir : record.directory, record.manifest);
          const times = { sinceMs: Date.parse(record.retainedSince ?? ''), untilMs: retainedUntil(record) };
          return { kind: record.resource.kind, key: { namespace, name }, file, ...times };
        }),
    close: async () => {},
  };
}

/** Renders the first error in the manifests of a directory, and the number of other errors. */
function renderErrors(dir: string, view: DirectoryView): readonly string[] {
  const [first, ...others] = view.problems().filter(({ severity }) => severity === 'error');
  if (!first) return [];
  if (others.length === 0) return [renderFinding(first)];
  // Renders only the first error in full, so that many errors do not hide the output of the command.
  const more = counted(others.length, 'more error');
  return [
    renderFinding(first),
    `${more} in the manifests of ${dir}. To list all errors: ${invocation('validate')} ${shellWord(dir)}`,
  ];
}

/** Returns the user name of this process, or undefined if the numeric user ID of the process has no name. */
export function currentUser(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}

/** Reads a directory of manifests. Throws a `UsageError` if it is not a directory. */
export async function openView(
  dir: string,
  { cwd }: Pick<CommandContext, 'cwd'>,
  clock: Clock = systemClock,
): Promise<{ readonly directory: string; readonly view: DirectoryView }> {
  const directory = resolve(cwd, dir);
  if (await isFolder(directory)) {
    return { directory, view: await DirectoryView.open({ directories: [directory], clock, random: systemRandom }) };
  }
  throw new UsageError(`--dir ${dir} is not a directory; use the directory of the manifests, such as --dir ./policies`);
}

/**
 * Returns a warning if no operator process is working on the directory. `dir` is the directory as the user wrote it.
 */
export async function idleNoteOf(dir: string, directory: string, view: DirectoryView): Promise<string | undefined> {
  if (!(await isSurelyFree(new StateDirectory(directory)))) return undefined;
  const flags = volumesOf(view).map((name) => ` --volume ${name}=DIR`);
  return `No process is working on ${dir}, so its resources do not change. To start a process: ${invocation('run')} ${shellWord(dir)}${flags.join('')}`;
}

/** Returns the names of the volumes to which the exports and schedules of a directory write, without duplicates. */
function volumesOf(view: DirectoryView): readonly string[] {
  const exports = [...view.resources('SearchExport').list()].map(({ spec }) => spec);
  const schedules = [...view.resources('SearchExportSchedule').list()].map(({ spec }) => spec.template.spec);
  const names = [...exports, ...schedules].flatMap(({ destination }) => destination.volume?.name ?? []);
  return [...new Set(names)].sort();
}

function inOrder(resources: Iterable<AnyResource>, namespace: string | undefined): readonly AnyResource[] {
  return [...resources]
    .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
    .map(withoutWriters)
    .sort(byNamespaceAndName);
}

/** Removes the names of the users who wrote the annotations. Resources in a cluster do not have these names either. */
function withoutWriters(resource: AnyResource): AnyResource {
  const { annotationWriters: _, ...metadata } = resource.metadata;
  return { ...resource, metadata };
}

/** `logfleet get`: shows the status of resources in a cluster or a directory. */
import { type AnyResource, type KindName, kindNames, kinds } from '../../api/kinds.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { type CommandContext, exitStatus } from '../command/context.ts';
import { invocation } from '../command/invocation.ts';
import type { GetOptions } from '../command/options.ts';
import { UsageError } from '../command/usage-error.ts';
import { holds, renderBehind } from '../render/condition-lines.ts';
import { isComplete, nextSteps } from '../render/next-steps.ts';
import { renderDocuments, renderResourceTable } from '../render/resource-table.ts';
import { viewOf } from '../render/resource-view.ts';
import {
  findResource,
  kindNamed,
  type OpenResources,
  openReader,
  openResources,
  renderRetained,
  retainedIn,
} from '../resources/resource-access.ts';
import { combineTroubles, type ResourceReader, repeatIdleCheck } from '../resources/resource-reader.ts';
import { createPresenter, type GetRequest } from './get-watch.ts';

interface GetDependencies {
  readonly open: OpenResources;
  readonly clock: Clock;
}

export async function getCommand(
  kindText: string | undefined,
  nameText: string | undefined,
  options: GetOptions,
  context: CommandContext,
  { open, clock }: GetDependencies = { open: options.watch ? openReader : openResources, clock: systemClock },
): Promise<number> {
  const selected = readArguments(kindText, nameText, options);
  const reader = await open(options, context);
  const namespace = options.allNamespaces ? undefined : (options.namespace ?? reader.defaultNamespace);
  const request = { ...selected, namespace, options, reader, context, clock };
  try {
    if (options.watch) await follow(request);
    else await show(request);
    return exitStatus.ok;
  } finally {
    await reader.close();
  }
}

async function show(request: GetRequest): Promise<void> {
  const { name, options, reader, context, clock } = request;
  const resources = await gather(request);
  const { output } = options;
  const { stdout, stderr } = context;
  if (output === 'json' || output === 'yaml') {
    stdout.write(renderDocuments(resources, output, name !== undefined));
    return;
  }
  const [first] = resources;
  const retained = name === undefined ? retainedIn(reader, request.kinds, request.namespace) : [];
  const retainedLines = renderRetained(retained, options);
  if (!first) {
    stderr.write(`${noneFound(request)}\n`);
    stdout.write(retainedLines.map((line) => `${line}\n`).join(''));
    return;
  }
  const nowMs = clock.now();
  const width = stdout.isTTY ? stdout.columns() : Number.POSITIVE_INFINITY;
  const table = { wide: output === 'wide', withNamespace: request.namespace === undefined, nowMs, width };
  const moment = { nowMs, steps: nextSteps(first, options) };
  const lines =
    name !== undefined && output === 'table'
      ? viewOf(first).render(first, moment, { width, colour: stdout.colour })
      : renderResourceTable(resources, table);
  const all = retainedLines.length === 0 ? lines : [...lines, '', ...retainedLines];
  stdout.write(all.map((line) => `${line}\n`).join(''));
  const note = await idleNoteOf(resources, reader);
  if (note !== undefined) stderr.write(`${note}\n`);
}

/** If no operator process is working on the directory, returns a warning that the statuses may be outdated. */
async function idleNoteOf(resources: readonly AnyResource[], reader: ResourceReader): Promise<string | undefined> {
  const isDone = (resource: AnyResource) => holds(resource.status, 'Ready') && renderBehind(resource) === undefined;
  const open = resources.filter((resource) => !isDone(resource) && !isComplete(resource));
  if (open.length === 0) return undefined;
  const note = reader.isDirectory ? await reader.idleNote() : undefined;
  const isNew = open.every(({ kind, status }) => kind === 'SearchExport' && status === undefined);
  return note === undefined || !isNew ? note : `${exportsWithoutStatus()} ${note}`;
}

const exportsWithoutStatus = () =>
  `The command logfleet export stores no status in this directory. To check the files of an export: ${invocation('verify FOLDER')}.`;

async function gather({
  kinds: wanted,
  name,
  namespace,
  options,
  reader,
}: GetRequest): Promise<readonly AnyResource[]> {
  const [kind] = wanted;
  if (kind !== undefined && name !== undefined) return [await findResource(reader, kind, name, options)];
  return (await Promise.all(wanted.map((one) => reader.list(one, namespace)))).flat();
}

/** Reads the resources before they are followed. If the named resource is missing, also reports errors in manifests. */
async function gatherFirst(request: GetRequest): Promise<readonly AnyResource[]> {
  try {
    return await gather(request);
  } catch (error) {
    request.reader.warnOfErrors?.();
    throw error;
  }
}

async function follow(request: GetRequest): Promise<void> {
  const { options, name, reader, context, clock } = request;
  const first = name !== undefined || reader.isDirectory ? await gatherFirst(request) : [];
  const namespace = name === undefined ? request.namespace : first[0]?.metadata.namespace;
  const presenter = createPresenter(request);
  const byKind = new Map<KindName, readonly AnyResource[]>();
  const checkIdle = async () => {
    const shown = byKind.size === 0 ? first : [...byKind.values()].flat();
    presenter.idle(await idleNoteOf(shown, reader));
  };
  const show = () => {
    if (byKind.size < request.kinds.length) return;
    const resources = request.kinds.flatMap((kind) => byKind.get(kind) ?? []);
    presenter.show(name === undefined ? resources : resources.filter(({ metadata }) => metadata.name === name));
  };
  const onTrouble = combineTroubles((message) => presenter.trouble(message));
  const failed = new AbortController();
  const signal = AbortSignal.any([context.signal, failed.signal]);
  try {
    const reportsIdle = reader.isDirectory && options.output !== 'json' && options.output !== 'yaml';
    if (reportsIdle) await checkIdle();
    await Promise.all([
      ...(reportsIdle ? [repeatIdleCheck(checkIdle, clock, signal)] : []),
      ...request.kinds.map((kind) => {
        const onResources = (resources: readonly AnyResource[]) => {
          byKind.set(kind, resources);
          show();
        };
        // When the watch for one kind ends, stops the watches for all kinds. Otherwise, the command would continue
        // without showing changes to resources of that kind.
        return reader
          .follow(kind, namespace, onResources, signal, (message) => onTrouble(kind, message))
          .finally(() => failed.abort());
      }),
    ]);
  } finally {
    presenter.end();
  }
}

function noneFound({ kinds: wanted, namespace, reader }: GetRequest): string {
  const resources = wanted.map((kind) => kinds[kind].plural).join(' or ');
  if (namespace === undefined) return `No ${resources} in ${reader.place}.`;
  return `No ${resources} in namespace ${namespace} of ${reader.place}. To look in all namespaces, add -A.`;
}

function readArguments(
  kindText: string | undefined,
  nameText: string | undefined,
  { allNamespaces }: GetOptions,
): Pick<GetRequest, 'kinds' | 'name'> {
  if (kindText === undefined) return { kinds: kindNames, name: undefined };
  const [kindPart = '', ...nameParts] = kindText.split('/');
  const name = nameText ?? (nameParts.join('/') || undefined);
  if (name !== undefined && (nameParts.length > 1 || (nameText !== undefined && nameParts.length > 0))) {
    const words = nameText === undefined ? kindText : `${kindText} ${nameText}`;
    throw new UsageError(`'${words}' names more than one resource; write one resource, such as cvp production`);
  }
  if (name !== undefined && allNamespaces) {
    throw new UsageError(`-A selects all namespaces, but ${name} names one resource: write -n NAMESPACE instead of -A`);
  }
  return { kinds: [kindNamed(kindPart)], name };
}

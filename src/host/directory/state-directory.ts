/**
 * Paths of the files that logfleet stores in the folder `.logfleet` of a manifest directory.
 *
 * ```
 * .logfleet/lock                                              the process that holds the directory
 *          /status/<Kind>/<namespace>/<name>.json             identity, last valid spec, and status
 *          /ledgers/<Kind>/<namespace>/<name>/<uid>/<shard>.json
 *          /manifests.json                                    data about each manifest file at the last reading
 *          /requests/<Kind>_<namespace>_<name>_<annotation>.json   user request to set an annotation of a resource
 *          /requests/<Kind>_<namespace>_<name>.json           user request to discard the state of a resource
 *          /requests/settings.json                            user requests for the whole operator
 *          /events.ndjson, events.1.ndjson                    Events, newest last
 * ```
 *
 * Invariant: no resource name leads to a file outside its folder.
 */
import { join } from 'node:path';
import { resourceName } from '../../api/json-shape.ts';
import type { KindName } from '../../api/kinds.ts';
import { assert } from '../../base/assert.ts';
import type { OwnerRef, ResourceKey } from '../host.ts';

export const stateFolderName = '.logfleet';

const nameForm = new RegExp(resourceName.pattern);
const annotationForm = /^logfleet\.dev\/([a-zA-Z]+)$/;
const uidForm = /^[0-9a-f-]{36}$/;

export function isResourceName(text: string): boolean {
  return nameForm.test(text);
}

export class StateDirectory {
  readonly folder: string;

  constructor(manifestDirectory: string) {
    this.folder = join(manifestDirectory, stateFolderName);
  }

  get lockFile(): string {
    return join(this.folder, 'lock');
  }

  get memoryFile(): string {
    return join(this.folder, 'manifests.json');
  }

  get eventFile(): string {
    return join(this.folder, 'events.ndjson');
  }

  get requestFolder(): string {
    return join(this.folder, 'requests');
  }

  /** Folders that only the operator process with the lock may change. */
  get ownFolders(): readonly string[] {
    return [join(this.folder, 'status'), join(this.folder, 'ledgers')];
  }

  /**
   * Returns the file that holds users' requests to set an annotation of a resource or, without `annotation`, to discard
   * the state of the resource. The separator `_` is unambiguous, because resource names cannot contain it.
   */
  requestFile(kind: KindName, { namespace, name }: ResourceKey, annotation?: string): string {
    const suffix = annotation === undefined ? '' : `_${shortName(annotation)}`;
    return join(this.requestFolder, `${kind}_${safe(namespace)}_${safe(name)}${suffix}.json`);
  }

  /** File that holds users' requests for the whole operator. No resource's request file can have this name. */
  get settingsRequestFile(): string {
    return join(this.requestFolder, 'settings.json');
  }

  statusFolder(kind: KindName): string {
    return join(this.folder, 'status', kind);
  }

  statusFile(kind: KindName, { namespace, name }: ResourceKey): string {
    return join(this.statusFolder(kind), safe(namespace), `${safe(name)}.json`);
  }

  /** Returns the folder with the ledgers of all current and earlier resources with this kind, namespace and name. */
  ledgersFolder(kind: KindName, { namespace, name }: ResourceKey): string {
    return join(this.folder, 'ledgers', kind, safe(namespace), safe(name));
  }

  ledgerFolder(owner: OwnerRef): string {
    assert(uidForm.test(owner.uid), `${JSON.stringify(owner.uid)} is no uid`);
    return join(this.ledgersFolder(owner.kind, owner), owner.uid);
  }

  ledgerFile(owner: OwnerRef, shard: string): string {
    return join(this.ledgerFolder(owner), `${safe(shard)}.json`);
  }
}

/** Returns the name of a logfleet annotation without its prefix, so that file names stay short. */
function shortName(annotation: string): string {
  const [, name] = annotationForm.exec(annotation) ?? [];
  assert(name !== undefined, `${JSON.stringify(annotation)} is not an annotation of logfleet`);
  return name;
}

function safe(name: string): string {
  assert(isResourceName(name), `${JSON.stringify(name)} is not a valid resource name`);
  return name;
}

/**
 * Where the state of a directory of manifests lies: in `.logfleet` inside it, in files that people can read.
 *
 * ```
 * .logfleet/lock                                              who is at work here
 *          /status/<Kind>/<namespace>/<name>.json             identity, last good spec, and status
 *          /ledgers/<Kind>/<namespace>/<name>/<uid>/<shard>.json
 *          /manifests.json                                    what each manifest file held when it was read last
 *          /requests/<Kind>_<namespace>_<name>.json           what a person asked for
 *          /requests/settings.json                            and of the operator as a whole
 *          /events.ndjson, events.1.ndjson                    what happened, newest last
 * ```
 *
 * Invariant: no name, whoever wrote it, leads out of its folder: each part of a path that comes from outside is checked here.
 */
import { join } from 'node:path';
import type { KindName } from '../../api/kinds.ts';
import { assert } from '../../base/assert.ts';
import type { OwnerRef, ResourceKey } from '../host.ts';

export const stateFolderName = '.logfleet';

/** The names that Kubernetes takes (RFC 1123), which are safe as names of files everywhere: no slash, no leading dot, one case. */
const nameForm = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
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

  /** Folders that only who holds the lock writes to. */
  get ownFolders(): readonly string[] {
    return [join(this.folder, 'status'), join(this.folder, 'ledgers')];
  }

  /** The part of a request's name that says whom it is for; no name of a resource has an underscore. */
  requestFile(kind: KindName, { namespace, name }: ResourceKey): string {
    return join(this.requestFolder, `${kind}_${safe(namespace)}_${safe(name)}.json`);
  }

  /** No request of a resource has this name: a kind begins with a capital letter. */
  get settingsRequestFile(): string {
    return join(this.requestFolder, 'settings.json');
  }

  statusFolder(kind: KindName): string {
    return join(this.folder, 'status', kind);
  }

  statusFile(kind: KindName, { namespace, name }: ResourceKey): string {
    return join(this.statusFolder(kind), safe(namespace), `${safe(name)}.json`);
  }

  /** The ledgers of all resources that ever had this name. */
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

function safe(name: string): string {
  assert(isResourceName(name), `${JSON.stringify(name)} is no name of a resource`);
  return name;
}

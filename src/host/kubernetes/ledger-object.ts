/** A resource of the kind `Ledger` as an API server sends it. */
import { ledgerKind } from '../../api/kinds.ts';
import { LogfleetError } from '../../base/errors.ts';
import type { LedgerShard } from '../host.ts';
import type { KubeObject } from './api-client.ts';
import { notInstalled } from './api-error.ts';

/** As much of a Ledger as is read. */
export interface LedgerObject extends KubeObject {
  readonly owner: { readonly uid: string };
  readonly content: string;
}

/** What is kept of a Ledger that was read. */
export interface StoredShard extends LedgerShard {
  readonly name: string;
  readonly ownerUid: string;
}

/** The CRD's schema makes the API server refuse a Ledger without these members. */
export function decodeLedger({ metadata, owner, content }: LedgerObject): StoredShard {
  return { name: metadata.name, ownerUid: owner.uid, content, version: metadata.resourceVersion };
}

/** The CRD of Ledgers is not installed. A person has to apply it. */
export function ledgersNotInstalled(cause: unknown): LogfleetError {
  return new LogfleetError({
    code: 'ledger.notInstalled',
    reason: 'LedgerNotInstalled',
    handling: { kind: 'stall' },
    message: notInstalled(ledgerKind, 'the API server'),
    cause,
  });
}

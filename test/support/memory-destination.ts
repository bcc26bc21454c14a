/** In-memory export destination. Calls can fail, and several destinations can share a store. */
import type { Destination, FileUpload, LeftoverChoice, ListedObject } from '../../src/destination/store/destination.ts';
import { type DestinationFailure, destinationError } from '../../src/destination/store/destination-error.ts';
import { folderSegments, nameSegments } from '../../src/destination/store/object-name.ts';

export type DestinationCall =
  | 'read'
  | 'create'
  | 'open'
  | 'write'
  | 'finish'
  | 'abort'
  | 'stream'
  | 'list'
  | 'remove'
  | 'abortLeftovers';

export interface DestinationFault {
  /** Promise that delays the call. The call takes effect only when the promise has settled. */
  readonly until?: Promise<unknown>;
  /**
   * Error with which the call fails. With `exists`, the call succeeds, but reports that an earlier attempt has already
   * created the object.
   */
  readonly failure?: DestinationFailure | 'exists';
  /** Whether the call takes effect although it fails. */
  readonly hasEffect?: boolean;
}

interface Upload {
  readonly name: string;
  readonly owner: MemoryDestination;
  readonly chunks: Uint8Array[];
}

/** Content of a bucket, which several destinations can share. */
export class MemoryStore {
  readonly objects = new Map<string, Uint8Array>();
  /** Uploads in progress. */
  readonly uploads = new Set<Upload>();
}

export class MemoryDestination implements Destination {
  readonly url = 'memory://test';
  readonly store: MemoryStore;
  /** Called at the beginning of each destination call. Returns a fault if the call should fail, otherwise undefined. */
  strike: (call: DestinationCall, name: string) => DestinationFault | undefined = () => undefined;
  #isDead = false;

  constructor(store = new MemoryStore()) {
    this.store = store;
  }

  get objects(): Map<string, Uint8Array> {
    return this.store.objects;
  }

  /** Simulates a killed process, whose calls have no further effect and never end. */
  die(): void {
    this.#isDead = true;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  read(name: string): Promise<Uint8Array | undefined> {
    return this.#call('read', name, () => {
      const content = this.objects.get(nameSegments(name).join('/'));
      return content && Uint8Array.from(content);
    });
  }

  create(name: string, content: Uint8Array): Promise<'created' | 'exists'> {
    return this.#call<'created' | 'exists'>(
      'create',
      name,
      () => {
        nameSegments(name);
        if (this.objects.has(name)) return 'exists';
        this.objects.set(name, Uint8Array.from(content));
        return 'created';
      },
      () => 'exists',
    );
  }

  open(name: string): Promise<FileUpload> {
    return this.#call('open', name, () => {
      nameSegments(name);
      const upload: Upload = { name, owner: this, chunks: [] };
      this.store.uploads.add(upload);
      return this.#handleOf(upload);
    });
  }

  async *stream(name: string): AsyncIterable<Uint8Array> {
    const content = await this.#call('stream', name, () => this.objects.get(nameSegments(name).join('/')));
    if (!content) throw destinationError('absent', `there is no ${name}`);
    for (let start = 0; start < content.length; start += 7) yield content.subarray(start, start + 7);
  }

  async *list(folder: string): AsyncIterable<ListedObject> {
    const prefix = prefixOf(folder);
    const found = await this.#call('list', folder, () => [...this.objects]);
    for (const [name, content] of found) if (name.startsWith(prefix)) yield { name, bytes: content.length };
  }

  remove(name: string): Promise<void> {
    return this.#call('remove', name, () => void this.objects.delete(nameSegments(name).join('/')));
  }

  abortLeftovers(folder: string, choice: LeftoverChoice): Promise<number> {
    return this.#call('abortLeftovers', folder, () => {
      const prefix = prefixOf(folder);
      let aborted = 0;
      for (const upload of this.store.uploads) {
        const isLeft = choice === 'all' || upload.owner.isDead;
        if (isLeft && upload.name.startsWith(prefix) && this.store.uploads.delete(upload)) aborted++;
      }
      return aborted;
    });
  }

  async close(): Promise<void> {}

  #handleOf(upload: Upload): FileUpload {
    const { uploads } = this.store;
    const { name } = upload;
    const check = () => {
      if (!uploads.has(upload)) throw destinationError('lost', `the upload of ${name} no longer exists`);
    };
    return {
      write: (chunk) =>
        this.#call('write', name, () => {
          check();
          upload.chunks.push(Uint8Array.from(chunk));
        }),
      finish: () =>
        this.#call('finish', name, () => {
          check();
          uploads.delete(upload);
          this.objects.set(name, Buffer.concat(upload.chunks));
        }),
      // If the response to `finish` was lost, the object may exist. In that case, `abort` also removes the object.
      abort: () =>
        this.#call('abort', name, () => {
          uploads.delete(upload);
          this.objects.delete(name);
        }),
    };
  }

  /**
   * Performs the call, unless a fault makes it fail. The fault `exists` simulates a repeated call whose first attempt
   * took effect. The call then returns the result of `lost` or, if `lost` is undefined, of `effect`.
   */
  async #call<T>(call: DestinationCall, name: string, effect: () => T, lost?: () => T): Promise<T> {
    const fault = this.strike(call, name);
    await fault?.until;
    if (this.#isDead) return new Promise<never>(() => {});
    if (!fault?.failure) return effect();
    if (fault.hasEffect) effect();
    if (fault.failure !== 'exists') throw destinationError(fault.failure, `the test makes ${call} of ${name} fail`);
    return (lost ?? effect)();
  }
}

function prefixOf(folder: string): string {
  return folderSegments(folder)
    .map((segment) => `${segment}/`)
    .join('');
}

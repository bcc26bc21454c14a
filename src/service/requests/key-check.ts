/**
 * Decides which requests may be sent after the service has rejected the access key (401). One request at a time is sent
 * to check the key, while all others wait for its response. If the service rejects the key again, the waiting requests
 * fail with the same error. Otherwise, they are all sent. Requests for a running search job never wait, because the
 * service cancels a job without requests (section 3.1 of docs/service.md).
 */
import { unlessAborted } from '../../base/aborted.ts';
import type { Call } from './call.ts';
import type { ServiceError } from './service-error.ts';

/** A request that checks the key. */
interface Check {
  readonly call: Call;
  /**
   * Resolves when the request has ended: to its error if the service has rejected the key again, otherwise to
   * undefined.
   */
  readonly result: PromiseWithResolvers<ServiceError | undefined>;
}

/** Error for a request that was not sent, because the service rejected its access key in another request. */
export class KeyRejectedError extends Error {
  override readonly name = 'KeyRejectedError';
  /** Error of the request that checked the key. */
  readonly rejection: ServiceError;

  constructor(rejection: ServiceError) {
    super(rejection.message);
    this.rejection = rejection;
  }
}

export class KeyCheck {
  #isRejected = false;
  #check: Check | undefined;

  /** Reports whether the request must wait until another request has checked the access key. */
  mustWait(call: Call): boolean {
    return this.#isRejected && this.#check !== undefined && this.#check.call !== call && !isOfRunningJob(call);
  }

  /**
   * Waits until the request may be sent. Rejects with a `KeyRejectedError` if the service rejects the key, or with the
   * abort reason if the call is aborted.
   */
  async pass(call: Call): Promise<void> {
    while (this.#check && this.mustWait(call)) {
      const { promise } = this.#check.result;
      const error = await (call.signal ? unlessAborted(call.signal, promise) : promise);
      if (error) throw new KeyRejectedError(error);
    }
    if (this.#isRejected && !isOfRunningJob(call)) this.#begin(call);
  }

  /** Records a response that does not reject the key, after which all waiting requests are sent. */
  accepted(): void {
    this.#isRejected = false;
    this.#end(undefined);
  }

  /**
   * Records that the service rejected the key. If this request checked the key and is not repeated, all waiting
   * requests fail.
   * @param isRepeated true if the client sends the request again. The repeated request then checks the key, unless it
   * belongs to a running search job, or another request is already checking the key.
   */
  rejected(call: Call, rejection: ServiceError, isRepeated: boolean): void {
    this.#isRejected = true;
    if (!isRepeated) {
      if (this.#check?.call === call) this.#end(rejection);
    } else if (!isOfRunningJob(call)) this.#begin(call);
  }

  /**
   * Records that a request got no response. If this request checked the key, all waiting requests are sent, because the
   * key may be valid.
   */
  unanswered(call: Call): void {
    if (this.#check?.call === call) this.accepted();
  }

  #end(rejection: ServiceError | undefined): void {
    this.#check?.result.resolve(rejection);
    this.#check = undefined;
  }

  #begin(call: Call): void {
    this.#check ??= { call, result: Promise.withResolvers() };
  }
}

function isOfRunningJob({ session }: Call): boolean {
  return session?.address !== undefined;
}

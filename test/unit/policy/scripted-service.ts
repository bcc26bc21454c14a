/** Fake upgrade service. Each call waits until the test answers the call. */

import type {
  Build,
  Collector,
  CreateTaskOptions,
  ListCollectorsQuery,
  UpgradeService,
  UpgradeTask,
} from '../../../src/service/collectors/upgrade-service.ts';
import type { Answer, CallOptions } from '../../../src/service/requests/call.ts';
import { ServiceError, type ServiceErrorOptions } from '../../../src/service/requests/service-error.ts';

export interface ScriptedCall<Asked, T> {
  readonly asked: Asked;
  /**
   * Calls `beforeSend` of the caller, as a real client does right before it sends a request. If `beforeSend` throws,
   * the call fails with this error.
   */
  send(): void;
  answer(value: T, sentAtMs?: number): void;
  fail(error: unknown): void;
}

export class ScriptedService implements UpgradeService {
  readonly posts: ScriptedCall<
    { readonly collectorId: string; readonly toVersion: string },
    { readonly taskId: string }
  >[] = [];
  readonly taskReads: ScriptedCall<string, UpgradeTask>[] = [];

  createTask(
    task: { readonly collectorId: string; readonly toVersion: string },
    options: CreateTaskOptions = {},
  ): Promise<Answer<{ readonly taskId: string }>> {
    return record(this.posts, task, options);
  }

  getTask(taskId: string, options: CallOptions = {}): Promise<Answer<UpgradeTask>> {
    return record(this.taskReads, taskId, options);
  }

  listCollectors(_: ListCollectorsQuery): Promise<Answer<readonly Collector[]>> {
    return Promise.reject(new Error('nobody lists here'));
  }

  listBuilds(): Promise<Answer<readonly Build[]>> {
    return Promise.reject(new Error('nobody lists here'));
  }
}

function record<Asked, T>(
  calls: ScriptedCall<Asked, T>[],
  asked: Asked,
  options: CreateTaskOptions,
): Promise<Answer<T>> {
  return new Promise((resolve, reject) => {
    options.signal?.addEventListener('abort', () => reject(options.signal?.reason), { once: true });
    calls.push({
      asked,
      send: () => {
        try {
          options.beforeSend?.();
        } catch (error) {
          reject(error);
        }
      },
      answer: (value, sentAtMs = 0) => resolve({ value, sentAtMs }),
      fail: reject,
    });
  });
}

export function serviceError(more: Partial<ServiceErrorOptions>): ServiceError {
  return new ServiceError({
    outcome: 'internalError',
    message: 'it failed',
    handling: { kind: 'backoff' },
    effect: 'none',
    ...more,
  });
}

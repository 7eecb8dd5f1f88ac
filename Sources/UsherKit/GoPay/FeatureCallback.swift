import UsherClient

/// The result of a verification: the person's submission. GoPay decides about it later.
public struct VerifyResult: Sendable, Equatable {
  /// GoPay's id of the person's KYC submission. The verdict comes later, as an event of topic `kyc`
  /// and in the attribute `kyc` of ``account``.
  public let submissionId: String
  /// The daemon's id of the person's account, `acc_…`; nil if the flow stored none.
  public let account: String?
  /// Other members of the submission, such as `status`: `SUBMITTED`. Values that are not strings
  /// are given as JSON text; null values are left out.
  public let metadata: [String: String]
}

extension VerifyResult {
  /// Creates the result from the daemon's flow.
  ///
  /// - Throws: ``KitError`` if the flow has ended without success or names no submission.
  init(_ flow: Flow) throws {
    let result = try flow.requireNoFailure().result
    guard let submissionId = result?["submissionId"]?.stringValue else {
      throw KitError(.unexpected, "the verification ended without a submission")
    }
    self.submissionId = submissionId
    account = result?["account"]?.stringValue
    metadata = (result?["metadata"]?.objectValue ?? [:]).compactMapValues { value in
      value.isNull ? nil : value.stringValue ?? String(decoding: value.encoded(), as: UTF8.self)
    }
  }
}

/// Receives the result of a call of ``FeatureManager``.
///
/// Exactly one of the two methods is called, once, by a task of its own: on the actor that the
/// method is isolated to, such as the main actor, or else on no particular thread. A conforming
/// class need not declare them `async`.
public protocol FeatureCallback<Output>: AnyObject, Sendable {
  associatedtype Output: Sendable

  /// Reports that the call has succeeded. `data` has optional details, such as
  /// ``VerifyResult/metadata``; nil if there are none.
  func onComplete(_ result: Output, data: [String: String]?) async

  /// Reports that the call has failed.
  func onError(_ error: FeatureError) async
}

/// A callback for `verify` that consists of closures.
///
/// A closure that is written in code of an actor, such as the main actor, runs on that actor; any
/// other on no particular thread.
public final class VerifyFeatureCallback: FeatureCallback {
  private let completed: @Sendable (VerifyResult, [String: String]?) async -> Void
  private let failed: @isolated(any) @Sendable (FeatureError) -> Void

  public init(
    @_inheritActorContext onComplete:
      @escaping @isolated(any) @Sendable (
        _ result: VerifyResult, _ data: [String: String]?
      ) -> Void,
    @_inheritActorContext onError:
      @escaping @isolated(any) @Sendable (_ error: FeatureError) -> Void
  ) {
    completed = { await onComplete($0, $1) }
    failed = onError
  }

  /// Creates a callback whose `onComplete` has no `data`, as in the SDK documentation.
  public init(
    @_inheritActorContext onComplete:
      @escaping @isolated(any) @Sendable (_ result: VerifyResult) -> Void,
    @_inheritActorContext onError:
      @escaping @isolated(any) @Sendable (_ error: FeatureError) -> Void
  ) {
    completed = { result, _ in await onComplete(result) }
    failed = onError
  }

  public func onComplete(_ result: VerifyResult, data: [String: String]?) async {
    await completed(result, data)
  }

  public func onError(_ error: FeatureError) async { await failed(error) }
}

/// A type-erased callback.
///
/// The value holds the callback weakly, as the SDK's type does, so the program must keep a strong
/// reference. If the callback is deallocated, the result is dropped, but the verification
/// continues.
public struct AnyFeatureCallback<Output: Sendable>: Sendable {
  private let find: @Sendable () -> (any FeatureCallback<Output>)?

  public init(wrapping callback: some FeatureCallback<Output>) {
    find = { [weak callback] in callback }
  }

  var isAlive: Bool { find() != nil }

  func deliver(
    _ outcome: Result<Output, FeatureError>, data: (Output) -> [String: String]
  ) async {
    guard let callback = find() else { return }
    switch outcome {
    case .success(let result):
      let data = data(result)
      await callback.onComplete(result, data: data.isEmpty ? nil : data)
    case .failure(let error): await callback.onError(error)
    }
  }
}

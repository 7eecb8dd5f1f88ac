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
/// Exactly one of the two methods is called, once, by a task of its own: on no particular thread
/// and on no actor.
public protocol FeatureCallback<Output>: AnyObject, Sendable {
  associatedtype Output: Sendable

  /// Reports that the call has succeeded. `data` has optional details, such as
  /// ``VerifyResult/metadata``; nil if there are none.
  func onComplete(_ result: Output, data: [String: String]?)

  /// Reports that the call has failed.
  func onError(_ error: FeatureError)
}

/// A callback for `verify` that consists of closures.
public final class VerifyFeatureCallback: FeatureCallback {
  private let completed: @Sendable (VerifyResult, [String: String]?) -> Void
  private let failed: @Sendable (FeatureError) -> Void

  public init(
    onComplete: @escaping @Sendable (_ result: VerifyResult, _ data: [String: String]?) -> Void,
    onError: @escaping @Sendable (_ error: FeatureError) -> Void
  ) {
    completed = onComplete
    failed = onError
  }

  /// Creates a callback whose `onComplete` has no `data`, as in the SDK documentation.
  public convenience init(
    onComplete: @escaping @Sendable (_ result: VerifyResult) -> Void,
    onError: @escaping @Sendable (_ error: FeatureError) -> Void
  ) {
    self.init(onComplete: { result, _ in onComplete(result) }, onError: onError)
  }

  public func onComplete(_ result: VerifyResult, data: [String: String]?) {
    completed(result, data)
  }

  public func onError(_ error: FeatureError) { failed(error) }
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

  func deliver(_ outcome: Result<Output, FeatureError>, data: (Output) -> [String: String]) {
    guard let callback = find() else { return }
    switch outcome {
    case .success(let result):
      let data = data(result)
      callback.onComplete(result, data: data.isEmpty ? nil : data)
    case .failure(let error): callback.onError(error)
    }
  }
}

import JSONRPC
import UsherAPI
import UsherClient

/// What a verification ended with.
public struct VerifyResult: Sendable, Equatable {
  /// Of the KYC flow, by GoPay's backend. The verdict comes later: event topic `kyc`, and the
  /// attribute `kyc` of ``account``.
  public let submissionId: String
  /// The daemon's name of the person's account, `acc_…`.
  public let account: String?
  /// What else was said of the submission, such as `status`: `SUBMITTED`. What is no text stands
  /// as its JSON, what is null is left out.
  public let metadata: [String: String]
}

extension VerifyResult {
  /// - Throws: ``KitError`` when the flow has failed, or names no submission.
  init(_ flow: Flow) throws {
    let result = try flow.unfailed().result
    guard let submissionId = result?["submissionId"]?.stringValue else {
      throw KitError(.unexpected, "the verification ended without a submission")
    }
    self.submissionId = submissionId
    account = result?["account"]?.stringValue
    guard case .object(let members)? = result?["metadata"] else {
      metadata = [:]
      return
    }
    metadata = members.compactMapValues { value in
      if case .null = value { return nil }
      return value.stringValue ?? String(decoding: value.encoded(), as: UTF8.self)
    }
  }
}

/// Hears what a call of ``FeatureManager`` ended with.
///
/// Exactly one of the two methods is called, once, by a task of its own: on no particular thread and
/// on no actor.
public protocol FeatureCallback<Output>: AnyObject, Sendable {
  associatedtype Output: Sendable

  /// The call has succeeded. `data` is what else the SDK knows, such as ``VerifyResult/metadata``,
  /// and may be ignored; nil where there is nothing.
  func onComplete(_ result: Output, data: [String: String]?)

  /// The call came to nothing.
  func onError(_ error: FeatureError)
}

/// A callback for `verify` made of closures.
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

  /// As the seed writes it: without `data`.
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

/// Any callback for a result of a type. It holds the callback weakly, as the SDK's does: whoever
/// wants to hear keeps it. Once it is gone nobody is told, and the verification goes on.
public struct AnyFeatureCallback<Output: Sendable>: Sendable {
  private let find: @Sendable () -> (any FeatureCallback<Output>)?

  public init(wrapping callback: some FeatureCallback<Output>) {
    find = { [weak callback] in callback }
  }

  var isThere: Bool { find() != nil }

  func tell(_ outcome: Result<Output, FeatureError>, data: (Output) -> [String: String]) {
    guard let callback = find() else { return }
    switch outcome {
    case .success(let result):
      let data = data(result)
      callback.onComplete(result, data: data.isEmpty ? nil : data)
    case .failure(let error): callback.onError(error)
    }
  }
}

/// Runs a call for a program that wants to be called back, as the SDKs' own surfaces do.
///
/// `completion` is called exactly once, with what the call returned or threw, by a task of its own
/// on Swift's concurrent executor: on no particular thread, maybe before this returns.
///
/// - Returns: That task: cancelling it cancels the call.
@discardableResult
func callBack<Value: Sendable, Failure: Error>(
  _ completion: @escaping @Sendable (Result<Value, Failure>) -> Void,
  with call: @escaping @Sendable () async throws(Failure) -> Value
) -> Task<Void, Never> {
  Task {
    let result: Result<Value, Failure>
    do throws(Failure) {
      result = .success(try await call())
    } catch {
      result = .failure(error)
    }
    completion(result)
  }
}

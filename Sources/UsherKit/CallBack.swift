/// Runs an `async` call and passes its result to a completion handler, as the vendors' SDKs do.
///
/// `completion` is called exactly once, with the value or the error of the call, by a new task: on
/// the actor of the closure if it has one, else on no particular thread, possibly before this
/// returns.
///
/// - Returns: The task; cancelling it cancels the call.
@discardableResult
func callBack<Value: Sendable, Failure: Error>(
  _ completion: @escaping @isolated(any) @Sendable (Result<Value, Failure>) -> Void,
  with call: @escaping @Sendable () async throws(Failure) -> Value
) -> Task<Void, Never> {
  Task {
    let result: Result<Value, Failure>
    do throws(Failure) {
      result = .success(try await call())
    } catch {
      result = .failure(error)
    }
    await completion(result)
  }
}

import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherDaemon

/// A method table with the method of the page AddingAMethod alone.
///
/// ``MethodTable`` accepts no methods from outside, so ``add(_:_:_:)`` repeats its composition:
/// early refusal, strict decoding, policy decision, audit, handler.
struct ExampleMethodTable: Sendable {
  private var entries: [String: MethodEntry] = [:]
  private let services: Services

  init(_ services: Services, hostNames: HostNameService) {
    self.services = services
    add(SystemHostName.self) { _, _ throws(UsherError) in try .now(try hostNames.get()) }
  }

  /// Answers a call as an unlocked daemon does.
  func respond(to method: String, _ params: JSONValue, as caller: Caller) throws -> Response {
    guard let entry = entries.method(method, isAdmin: caller.isAdmin) else {
      throw UsherError(.methodNotFound, "there is no such method")
    }
    let decoded: DecodedParams = try params.encoded().withUnsafeBytes { params in
      try entry.refuse(params, caller)
      return try entry.decode(params, caller.isAdmin ? .none : ParamsLimit(Limits()))
    }
    return try entry.run(decoded, Call(caller: caller, connection: NoConnection()))
  }

  private mutating func add<M: Method>(
    _ type: M.Type, _ subject: Subject<M> = .method,
    _ handler: @escaping @Sendable (M, AuthorizedCall) throws(UsherError) -> Response
  ) {
    let services = services
    entries[M.name] = MethodEntry(
      type, schema: Lazy { StrictDecoding.schema(of: type) },
      refuse: { params, caller throws(UsherError) in
        try services.refuseEarly(type, subject, params, caller)
      },
      run: { method, call throws(UsherError) in
        var method = method
        let authorized = try services.authorise(&method, subject, call.caller)
        return try authorized.perform { () throws(UsherError) in try handler(method, authorized) }
      })
  }
}

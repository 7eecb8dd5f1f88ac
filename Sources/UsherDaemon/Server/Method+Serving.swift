import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

/// The response of a method's handler to a call: at once, or later from a task of its own.
enum Response: Sendable {
  /// The encoded result. Most calls respond in this way: it costs no task and no switch of threads.
  case now([UInt8])
  /// The encoded result, which may also answer the next identical call.
  case cacheable(CachedReply)
  /// For calls that wait for the disk, a provider or a person.
  case later(@Sendable () async throws(UsherError) -> [UInt8])
  /// The call needs data that must be loaded first, from disk or from the user database. The body
  /// loads the data in a task of its own; until then, the connection answers nothing else. The
  /// body's response may be `cold` again if the call then needs more data.
  case cold(@Sendable () async throws(UsherError) -> Response)
  /// The data is loaded, and the call runs now, on the event loop of its connection. Only used as
  /// the response of `cold`.
  case resumed(@Sendable (Call) throws(UsherError) -> Response)

  static func now(_ reply: some Encodable) throws(UsherError) -> Response {
    .now(try ReplyEncoder.encode(reply))
  }
}

/// The caller and the connection of one RPC call. Used on the event loop of that connection.
struct Call {
  let caller: Caller
  let connection: any ConnectionLink
}

/// The operations that a method's handler may perform on its connection. Used on the connection's
/// event loop only.
protocol ConnectionLink: AnyObject {
  /// The limits of the connection, as they were when it began.
  var limits: Limits { get }
  func cancel(_ id: RequestID)
  func subscribe(_ call: EventsSubscribe) throws(UsherError) -> EventsSubscribe.Reply
  func unsubscribe(_ subscription: String) throws(UsherError)
}

/// Entry of the method table.
struct MethodEntry: Sendable {
  let type: any Method.Type
  /// Whether the method also works while the daemon is locked.
  let worksLocked: Bool
  /// Refuses a caller that must not make this call, before the parameters are decoded.
  let refuse: @Sendable (UnsafeRawBufferPointer?, Caller, Services) throws(UsherError) -> Void
  /// Decodes the parameters. May run on any thread.
  let decode: @Sendable (UnsafeRawBufferPointer?, ParamsLimit) throws(UsherError) -> DecodedParams
  /// Authorizes and answers the call, on the event loop. The services are nil while the daemon is
  /// locked, and for methods that work then.
  let run: @Sendable (DecodedParams, Call, Services?) throws(UsherError) -> Response
}

/// The parameters of a call, as a value of its method's type.
typealias DecodedParams = any Sendable

extension MethodEntry {
  /// Creates the entry of a method.
  ///
  /// - Parameter schema: The schema of the method's type, by which the parameters are checked.
  init<M: Method>(
    _ type: M.Type, schema: Lazy<Schema>,
    refuse:
      @escaping @Sendable (UnsafeRawBufferPointer?, Caller, Services) throws(UsherError) -> Void,
    run: @escaping @Sendable (M, Call, Services?) throws(UsherError) -> Response
  ) {
    self.type = type
    worksLocked = M.traits.worksLocked
    self.refuse = refuse
    decode = { params, limit throws(UsherError) in
      let value = try limit.allowing(bytes: M.ownParamsBytes).value(params)
      return try StrictDecoding.decode(M.self, from: value, schema: schema.value)
    }
    self.run = { params, call, services throws(UsherError) in
      guard let params = params as? M else {
        throw UsherError(.internalError, "the parameters of \(M.name) are of another method")
      }
      return try run(params, call, services)
    }
  }
}

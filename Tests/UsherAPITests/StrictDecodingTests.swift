import JSONRPC
import Testing
import UsherAPI
import UsherCore

@Suite("Strict decoding of parameters")
struct StrictDecodingTests {
  private struct Params: Codable, Equatable {
    var name: String
    var count: Int?
    var ratio: Double?
    var flag: Bool?
    var small: UInt8?
    var inner: Inner?
    var list: [Inner]?
    var table: [String: Inner]?
    var topic: EventTopic?
    var at: Timestamp?

    struct Inner: Codable, Equatable { var id: String }
  }

  private func decode(_ text: String, prefix: String = "") throws -> Params {
    try StrictDecoding.decode(
      Params.self, from: json(text), schema: StrictDecoding.schema(of: Params.self),
      prefix: prefix)
  }

  @Test("parameters of every type are decoded")
  func decodes() throws {
    let all = """
      {"name":"a","count":-1,"ratio":0.5,"flag":true,"small":255,"inner":{"id":"i"},
       "list":[{"id":"j"}],"table":{"t":{"id":"k"}},"topic":"flow","at":"\(startedJSON)"}
      """
    #expect(
      try decode(all)
        == Params(
          name: "a", count: -1, ratio: 0.5, flag: true, small: 255, inner: .init(id: "i"),
          list: [.init(id: "j")], table: ["t": .init(id: "k")], topic: .flow, at: started))
    #expect(try decode(#"{"name":"a"}"#) == Params(name: "a"))
  }

  @Test("an optional parameter may be null")
  func null() throws {
    #expect(try decode(#"{"name":"a","count":null,"inner":null,"list":null}"#) == Params(name: "a"))
  }

  @Test(
    "an unknown, missing or mistyped parameter is refused with an error that names it",
    arguments: [
      (#"{"name":"a","nmae":"b"}"#, "nmae", "is not a parameter"),
      (#"{"name":"a","z":1,"b":1}"#, "b", "is not a parameter"),
      (#"{"name":"a","Name":"b"}"#, "Name", "is not a parameter"),
      (#"{"name":"a","":"b"}"#, "", "is not a parameter"),
      (#"{"name":"a","inner":{"id":"i","x":1}}"#, "inner.x", "is not a parameter"),
      (#"{"name":"a","list":[{"id":"i"},{"id":"i","x":1}]}"#, "list.1.x", "is not a parameter"),
      (#"{"name":"a","table":{"t":{"id":"i","x":1}}}"#, "table.t.x", "is not a parameter"),
      ("{}", "name", "is missing"),
      (#"{"name":"a","inner":{}}"#, "inner.id", "is missing"),
      (#"{"name":"a","list":[{"id":"i"},{}]}"#, "list.1.id", "is missing"),
      (#"{"name":"a","table":{"t":{}}}"#, "table.t.id", "is missing"),
      (#"{"name":null}"#, "name", "must not be null"),
      (#"{"name":"a","inner":{"id":null}}"#, "inner.id", "must not be null"),
      (#"{"name":"a","list":[null]}"#, "list.0", "must not be null"),
      (#"{"name":1}"#, "name", "must be a string"),
      (#"{"name":{}}"#, "name", "must be a string"),
      (#"{"name":"a","count":"1"}"#, "count", "must be an integer"),
      (#"{"name":"a","count":true}"#, "count", "must be an integer"),
      (#"{"name":"a","ratio":"1"}"#, "ratio", "must be a number"),
      (#"{"name":"a","flag":1}"#, "flag", "must be true or false"),
      (#"{"name":"a","flag":"true"}"#, "flag", "must be true or false"),
      (#"{"name":"a","list":{"id":"i"}}"#, "list", "must be an array"),
      (#"{"name":"a","inner":[]}"#, "inner", "must be an object"),
      (#"{"name":"a","inner":"i"}"#, "inner", "must be an object"),
      (#"{"name":"a","table":[]}"#, "table", "must be an object"),
      (#"{"name":"a","list":[1]}"#, "list.0", "must be an object"),
      (#"{"name":"a","count":1.5}"#, "count", "must be a 64-bit integer"),
      (#"{"name":"a","count":9223372036854775808}"#, "count", "must be a 64-bit integer"),
      (#"{"name":"a","count":-9223372036854775809}"#, "count", "must be a 64-bit integer"),
      (#"{"name":"a","small":256}"#, "small", "must be an integer from 0 to 255"),
      (#"{"name":"a","small":-1}"#, "small", "must be an integer from 0 to 255"),
      (#"{"name":"a","small":255.5}"#, "small", "must be a 64-bit integer"),
      (#"{"name":"a","small":1e300}"#, "small", "must be a 64-bit integer"),
      (#"{"name":"a","list":[{"id":"i"},{"id":"i","n":1e3}]}"#, "list.1.n", "is not a parameter"),
      (#"{"name":"a","topic":"weather"}"#, "topic", "has a value that is not allowed"),
      (#"{"name":"a","at":"yesterday"}"#, "at", "has a value that is not allowed"),
    ])
  func refuses(text: String, field: String, what: String) {
    let error = #expect(throws: UsherError.self) { try decode(text) }
    #expect(error?.reason == .invalidParams)
    #expect(error?.detail.field == field)
    #expect(error?.message == "\(field) \(what)")
    let nested = #expect(throws: UsherError.self) { try decode(text, prefix: "params") }
    #expect(nested?.detail.field == "params.\(field)")
    #expect(nested?.message == "params.\(field) \(what)")
  }

  @Test(
    "parameters that are not an object are refused", arguments: ["[]", #"["a"]"#, "1", "null"])
  func array(text: String) {
    let error = #expect(throws: UsherError.self) { try decode(text) }
    #expect(error?.reason == .invalidParams)
    #expect(error?.detail.field == "params")
    #expect(error?.message == "params must be an object: parameters are passed by name")
    let nested = #expect(throws: UsherError.self) { try decode(text, prefix: "params") }
    #expect(nested?.detail.field == "params")
    #expect(nested?.message == error?.message)
  }

  @Test("an integer parameter may have a fraction of zero or an exponent")
  func wholeNumber() throws {
    #expect(try decode(#"{"name":"a","count":2.0}"#) == Params(name: "a", count: 2))
    #expect(try decode(#"{"name":"a","count":2e3}"#) == Params(name: "a", count: 2000))
  }

  @Test("absent parameters are refused only if one is required", arguments: Methods.all)
  func absent(method: any Method.Type) throws {
    let required = method.members.filter(\.isRequired).map(\.name)
    if let error = strictly(method, nil) {
      #expect(required.contains(error.detail.field ?? ""))
      #expect(error.message.hasSuffix("is missing"))
    } else {
      #expect(required.isEmpty)
    }
  }

  @Test(
    "an unknown parameter of any method is refused by its name",
    arguments: Methods.all)
  func stray(method: any Method.Type) {
    let error = strictly(method, ["nonsense": 1])
    #expect(error?.reason == .invalidParams)
    #expect(error?.detail.field == "nonsense")
  }

  @Test("unknown and invalid members of nested parameters are refused by their path")
  func nested() throws {
    let client = try json(#"{"client":{"name":"till","version":"1","mood":"good"}}"#)
    #expect(strictly(RPCHello.self, client)?.detail.field == "client.mood")
    #expect(strictly(EventsSubscribe.self, ["topics": ["flow", 7]])?.detail.field == "topics.1")
    #expect(strictly(EventsSubscribe.self, ["topics": ["x"]])?.detail.field == "topics.0")
  }

  @Test("parameters that may be of any shape are accepted in every shape")
  func anything() throws {
    let start = try json(#"{"provider":"work","kind":"k","params":{"any":{"thing":[1]}}}"#)
    #expect(strictly(FlowStart.self, start) == nil)
    #expect(strictly(RPCCancel.self, ["id": 1.5]) == nil)
  }

  @Test("a uid that does not fit into 32 bits is refused with an error that names the field")
  func userID() {
    for uid in [4_294_967_296, -1] as [JSONValue] {
      let error = strictly(LocalAuthSetPasscode.self, ["new": "4711", "uid": uid])
      #expect(error?.reason == .invalidParams)
      #expect(error?.detail.field == "uid")
    }
  }

  @Test("parameter names are compared by bytes, so a Unicode look-alike is unknown")
  func lookAlike() {
    let kelvin = "user\u{212A}ey"
    let error = strictly(
      RegistrationCheckUserKey.self, .object(["provider": "work", kelvin: "anna"]))
    #expect(error?.reason == .invalidParams)
    #expect(error?.message == "\(kelvin) is not a parameter")
  }

  private func strictly<M: Method>(_ method: M.Type, _ params: JSONValue?) -> UsherError? {
    do throws(UsherError) {
      let schema = StrictDecoding.schema(of: method)
      _ = try StrictDecoding.decode(method, from: params, schema: schema)
      return nil
    } catch {
      return error
    }
  }
}

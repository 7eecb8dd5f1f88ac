import FoundationEssentials
import JSONRPC
import Testing
import UsherCommands
import UsherTestKit

@Suite("Parameters of a flow on usherctl's command line", .timeLimit(.minutes(10)))
struct FlowParamTests {
  private static let flows = #"""
    {"name":"work","type":"paysafe","flows":[{"kind":"other","summary":"","params":{}},\#
    {"kind":"sca","summary":"","params":{"type":"object","properties":{"eventId":{"type":"string"},\#
    "verification":{"type":"object","properties":{"method":{"type":"string"},\#
    "channel":{"type":"string"}}},"keepAlive":{"type":"boolean"},"age":{"type":"integer"},\#
    "body":true}}}]}
    """#

  private static let done = Reply.flow(2, status: "succeeded")

  private func run(
    _ params: String, as expected: JSONValue, typed: [String] = [], asksSchema: Bool = true
  ) async throws {
    let schema = asksSchema ? [Exchange.ask("provider.get", ["provider": "work"], Self.flows)] : []
    let outcome = try await usherctl(
      "flow run work sca \(params)", terminal: ScriptedTerminal(typed),
      asking: schema + [.start(kind: "sca", expected, Self.done)])
    #expect(outcome.status == 0, "\(outcome.error)")
  }

  @Test(
    "usherctl sends --param values that are plain text as strings and does not ask for the schema")
  func texts() async throws {
    try await run(
      "--param eventId=e-1 --param x=y=z --param empty=",
      as: ["eventId": "e-1", "x": "y=z", "empty": ""], asksSchema: false)
  }

  @Test("a dotted name in usherctl's --param sets a member of an object")
  func dotted() async throws {
    try await run(
      "--param verification.method=OTP --param verification.channel=SMS",
      as: ["verification": ["method": "OTP", "channel": "SMS"]], asksSchema: false)
    try await run(
      #"--params {"verification":{"method":"PIN"},"a":1} --param verification.method=OTP"#,
      as: ["verification": ["method": "OTP"], "a": 1], asksSchema: false)
  }

  @Test("usherctl parses a --param value as JSON unless the flow expects a string")
  func typed() async throws {
    try await run(
      #"--param verification={"method":"OTP"} --param keepAlive=true --param age=30"#,
      as: ["verification": ["method": "OTP"], "keepAlive": true, "age": 30])
    try await run(
      #"--param eventId=42 --param verification.method={} --param body=[1,null]"#,
      as: ["eventId": "42", "verification": ["method": "{}"], "body": [1, nil]])
    // The daemon refuses invalid values, and names the parameter.
    try await run("--param keepAlive=1x --param age=7", as: ["keepAlive": "1x", "age": 7])
  }

  @Test("without the flow's schema, usherctl parses only objects and arrays in --param as JSON")
  func unknown() async throws {
    let refusal = Reply.error(-32001, "permission_denied", "no")
    let outcome = try await usherctl(
      #"flow run work sca --param a=true --param b={"c":1}"#,
      asking: [
        .refuse("provider.get", ["provider": "work"], refusal),
        .start(kind: "sca", ["a": "true", "b": ["c": 1]], Self.done),
      ])
    #expect(outcome.status == 0)
    try await run("--param b=[]", as: ["b": []])
  }

  @Test("usherctl can read a flow parameter from a file or from standard input")
  func files() async throws {
    let path = FakeDaemon.freshPath()
    defer { FakeDaemon.removeFolder(of: path) }
    try Data(#"{"amount": 5}"#.utf8).write(to: URL(filePath: path))
    try await run("--param body=@\(path)", as: ["body": ["amount": 5]])
    try await run("--param body=@-", as: ["body": ["n": 1]], typed: [#"{"n":"#, "1}"])
    try await run("--param eventId=@\(path)", as: ["eventId": .string("@\(path)")])
    try await run("--params @\(path)", as: ["amount": 5], asksSchema: false)
    try await run(
      "--params @-", as: ["token": "t"], typed: [#"{"token":"#, #""t"}"#], asksSchema: false)
  }

  @Test(
    "usherctl names an unreadable or contradictory --param and starts no flow",
    arguments: [
      ("--param body=@/tmp/usher-no-such-file", "/tmp/usher-no-such-file cannot be read", 1),
      ("--param body=@-", "--param body: - is not JSON", 64),
      ("--param a=b --param a.c=d --param body={}", "--param a.c: its parent is not an object", 64),
    ])
  func wrong(params: String, message: String, status: Int) async throws {
    let outcome = try await usherctl(
      "flow run work sca \(params)", terminal: ScriptedTerminal(["{"]),
      asking: [.ask("provider.get", ["provider": "work"], Self.flows)])
    #expect(outcome.error.hasPrefix("usherctl: \(message)"), "\(outcome.error)")
    #expect(outcome.status == Int32(status))
  }

  @Test(
    "usherctl exits with 64 for a --param without a name or a value",
    arguments: ["a", "=b", "a..b=c"])
  func nameless(param: String) async {
    let outcome = await usherctl("flow run work sca --param \(param)")
    #expect(outcome.status == 64)
  }

  @Test("usherctl's error names the flow parameter that the daemon refuses")
  func refused() async throws {
    for (field, message, more) in [
      ("params.colour", "params.colour is not a parameter", ""),
      ("account", "there are 2 accounts: name one", "field: account\n"),
    ] {
      let outcome = try await usherctl(
        "flow run work sca --param colour=red",
        asking: [
          .refuse(
            "flow.start", ["provider": "work", "kind": "sca", "params": ["colour": "red"]],
            Reply.error(-32602, "invalid_params", message, more: #","field":"\#(field)""#))
        ])
      #expect(outcome.error == "usherctl: \(message)\n\(more)")
      #expect(outcome.status == 1)
    }
  }

  @Test("usherctl's --phone and --country set flow parameters, always as strings")
  func shortForms() async throws {
    try await run(
      #"--phone 9876543210 --country IN --param x=y --params {"z":1}"#,
      as: ["phoneNumber": "9876543210", "countryCode": "IN", "x": "y", "z": 1], asksSchema: false)
    try await run("--phone @x --param age=3", as: ["phoneNumber": "@x", "age": 3])
    try await run("--country {}", as: ["countryCode": "{}"], asksSchema: false)
  }

  @Test("usherctl flow run --help names the parameters that --phone and --country set")
  func help() async {
    let help = await usherctl("flow run --help").output
    #expect(help.contains("--phone <number>  "), "\(help)")
    #expect(help.contains("Same as --param phoneNumber=NUMBER"), "\(help)")
    #expect(help.contains("Same as --param countryCode=CODE"), "\(help)")
  }

  @Test(
    "usherctl exits with 64 if a parameter is given in two ways, and does not call the daemon",
    arguments: [
      ("--phone 1 --param phoneNumber=1", "--phone and --param both set phoneNumber"),
      ("--phone 1 --param phoneNumber.x=1", "--phone and --param both set phoneNumber"),
      (
        #"--country IN --params {"countryCode":null} --param a=true"#,
        "--country and --params both set countryCode"
      ),
      ("--country IN --params []", "--params is not a JSON object"),
    ])
  func saidTwice(params: String, message: String) async {
    let outcome = await usherctl("flow run work sca \(params)")
    #expect(outcome.error == "usherctl: \(message)\n")
    #expect(outcome.status == 64)
  }

  @Test(
    "usherctl login exits with 64 if an option and --param set the same parameter",
    arguments: [
      ("--scope a", "scope"), ("--account acc_1", "account"), ("--login-hint ann", "loginHint"),
      ("--keep-alive", "keepAlive"), ("--grant read.email", "grants"),
    ])
  func loginSaidTwice(option: String, param: String) async {
    let outcome = await usherctl("login work \(option) --param \(param)=true")
    let name = option.split(separator: " ")[0]
    #expect(outcome.error == "usherctl: \(name) and --param both set \(param)\n")
    #expect(outcome.status == 64)
  }

  @Test("usherctl login has options for the parameters that every sign-in takes")
  func login() async throws {
    let done = Reply.flow(2, status: "succeeded", result: #"{"account":"acc_1"}"#)
    let outcome = try await usherctl(
      "login work --keep-alive --login-hint ann --param loginStrategy=pin",
      asking: [
        .start(["keepAlive": true, "loginHint": "ann", "loginStrategy": "pin"], done),
        .ask("account.get", ["account": "acc_1"], #"{"account":\#(Reply.account)}"#),
      ])
    #expect(outcome.output == "signed in as Ann (acc_1)\n")
  }

  @Test("usherctl login --grant sends a list of grants and prints the profile that they return")
  func grants() async throws {
    let result = #"{"account":"acc_1","profile":{"firstname":"Ann","email":"ann@x.example"}}"#
    let done = Reply.flow(2, status: "succeeded", result: result)
    let outcome = try await usherctl(
      "login work --grant read.firstname --grant read.email",
      asking: [
        .start(["grants": ["read.firstname", "read.email"]], done),
        .ask("account.get", ["account": "acc_1"], #"{"account":\#(Reply.account)}"#),
      ])
    #expect(
      outcome.output == """
        signed in as Ann (acc_1)
        email      ann@x.example
        firstname  Ann

        """)
  }
}

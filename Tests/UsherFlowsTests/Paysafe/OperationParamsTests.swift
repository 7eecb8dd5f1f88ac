import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Parameters of Paysafe operation")
struct OperationParamsTests {
  private func refusal(
    _ method: String = "GET", _ path: String = "/wallets/w", body: [String: JSONValue]? = nil,
    _ change: (inout PaysafeOperation.Params) -> Void = { _ in },
    operations: [String] = ["*:/*"]
  ) throws -> UsherError? {
    var params = PaysafeOperation.Params(method: method, path: path, body: body)
    change(&params)
    do {
      _ = try DrivenOperation(params) {
        $0.operations = try operations.map { try OperationPattern(setting: $0) }
      }
      return nil
    } catch let error as UsherError {
      return error
    }
  }

  @Test(
    "Paysafe operation refuses a path that is malformed, ambiguous or not normalised",
    arguments: [
      "", "wallets", "//evil.example/x", "/wallets//x", "/wallets/..", "/wallets/../auth",
      "/wallets/./x", "/.", "/wallets/%2e%2e/x", "/wallets/%2E./x", "/wallets/.%2e", "/%2e/x",
      "/wallets/..;/x", "/wallets/..;a=b/x", "/wallets/;/x", "/wallets/%2Fx", "/wallets/%2fx",
      "/wallets/%5Cx", "/wallets/%252e%252e/x", "/wallets/%00", "/wallets/%0d%0a", "/wallets/%7F",
      "/wallets/a b", "/wallets/x#y", "/wallets\\x", "/wallets/\"x\"", "/wallets/'x'",
      "/wallets/{id}", "/wallets/<x>", "/wallets/é", "/wallets/x\n", "/wallets/%", "/wallets/%2",
      "/wallets/%zz", "/wallets/x?q=%g0", "/wallets/x?q=a b", "/wallets/x?q=#",
      "http://evil.example/", "/" + String(repeating: "x", count: 2048), "?x", "/%5c%2e",
      "/wallets/...", "/wallets/%2e%2e%2e",
    ])
  func badPaths(path: String) throws {
    let error = try refusal(path: path)
    #expect(error?.reason == .invalidParams)
    #expect(error?.detail.field == "params.path")
  }

  private func refusal(path: String) throws -> UsherError? { try refusal("GET", path) }

  @Test(
    "Paysafe operation accepts a path with dots, encoded letters, parameters and a query",
    arguments: [
      "/", "/wallets/w", "/wallets/w/", "/wallets/w.x", "/wallets/..x", "/wallets/%41%20b",
      "/wallets/w;v=1", "/wallets/w?next=//a/../%2F%25&x=1?2", "/wallets/~a-b_c@:$&()*+,=!",
      "/" + String(repeating: "x", count: 2047),
    ])
  func goodPaths(path: String) throws {
    #expect(try refusal(path: path) == nil)
  }

  @Test("Paysafe operation accepts five HTTP methods, and a body with each of them but GET")
  func methods() throws {
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
      #expect(try refusal(method) == nil)
      let withBody = try refusal(method, body: ["a": 1])
      #expect(withBody?.detail.field == (method == "GET" ? "params.body" : nil))
    }
    for method in ["", "get", "HEAD", "OPTIONS", "GET ", "GET\r\nX: y", "CONNECT"] {
      #expect(try refusal(method)?.detail.field == "params.method")
    }
  }

  @Test("Paysafe operation refuses a body with a top-level scaDetails member")
  func scaDetails() throws {
    for value: JSONValue in [[:], nil, "x"] {
      let error = try refusal("POST", body: ["scaDetails": value])
      #expect(error?.detail.field == "params.body.scaDetails")
    }
    #expect(try refusal("POST", body: ["inner": ["scaDetails": [:]]]) == nil)
  }

  @Test("Paysafe operation refuses a number in the body that would not be sent as it was written")
  func bigNumbers() throws {
    for value: JSONValue in [.number(1e19), .number(-9_007_199_254_740_992), [.number(1e300)]] {
      #expect(try refusal("POST", body: ["amount": value])?.detail.field == "params.body")
    }
    for value: JSONValue in [.integer(.max), .number(1.1), .number(-0.5), "12345678901234567890"] {
      #expect(try refusal("POST", body: ["amount": value]) == nil)
    }
  }

  @Test("Paysafe operation checks the parameters that it shares with sca as sca does")
  func shared() throws {
    let changes: [(String, (inout PaysafeOperation.Params) -> Void)] = [
      ("params.verification", { $0.verification = .init(method: "PASSKEYS") }),
      ("params.returnUrl", { $0.verification = .redirect }),
      ("params.returnUrl", { $0.returnUrl = "/back" }), ("params.language", { $0.language = "?" }),
      ("params.operation.amount", { $0.operation = .init(summary: "s", amount: "\n", payee: "p") }),
    ]
    for (field, change) in changes {
      #expect(try refusal("GET", "/wallets/w", change)?.detail.field == field)
    }
  }

  @Test(
    "Paysafe operation permits only the calls that the configuration lists and names a refused one",
    arguments: [
      ("GET", "/wallets/w", true), ("GET", "/wallets/w?x=/payments", true),
      ("POST", "/wallets/w/payments", true), ("POST", "/wallets/w/payments?x=1", true),
      ("POST", "/wallets/w", false), ("DELETE", "/wallets/w", false),
      ("POST", "/wallets/w/payments/p", false), ("GET", "/admin", false),
      ("GET", "/Wallets/w", false), ("POST", "/wallets/w/x?/payments", false),
    ])
  func allowList(method: String, path: String, isPermitted: Bool) throws {
    let error = try refusal(
      method, path, operations: ["GET:/wallets/*", "POST:/wallets/*/payments"])
    #expect(error?.reason == (isPermitted ? nil : .permissionDenied))
    if !isPermitted {
      let name = "\(method):\(path.prefix { $0 != "?" })"
      #expect(error?.message.hasSuffix(name) == true)
    }
  }

  @Test("Paysafe operation permits no call if the configuration lists none")
  func nothing() throws {
    #expect(try refusal("GET", "/wallets/w", operations: [])?.reason == .permissionDenied)
  }

  @Test("Paysafe operation refuses unknown or mistyped parameters")
  func strict() throws {
    let schema = StrictDecoding.schema(of: PaysafeOperation.Params.self)
    let good: JSONValue = [
      "method": "POST", "path": "/x", "body": ["a": [1, ["b": nil]]], "account": "acc_1",
    ]
    let params = try StrictDecoding.decode(
      PaysafeOperation.Params.self, from: good, schema: schema, prefix: "params")
    #expect(params.body == ["a": [1, ["b": nil]]])
    for (name, value, field) in [
      ("body", [], "params.body"), ("body", "x", "params.body"), ("path", nil, "params.path"),
      ("headers", [:], "params.headers"),
    ] as [(String, JSONValue?, String)] {
      var changed = good
      changed[name] = value
      do {
        _ = try StrictDecoding.decode(
          PaysafeOperation.Params.self, from: changed, schema: schema, prefix: "params")
        Issue.record("the flow accepts \(name)")
      } catch {
        #expect(error.detail.field == field)
      }
    }
  }
}

import JSONRPC

// Objects that the examples of several methods contain.
extension JSONValue {
  static let exampleTime: JSONValue = "2027-01-15T08:00:00Z"

  static let exampleFlow: JSONValue = flow(
    status: "active", state: "authorizing", revision: 4,
    [
      "step": [
        "type": "openURL", "url": "https://id.example/authorize?state=s",
        "redirectURI": "http://127.0.0.1:40001/callback", "completes": "loopback",
      ]
    ])

  static let exampleFinishedFlow: JSONValue = flow(
    status: "succeeded", state: "succeeded", revision: 6, ["result": ["account": "acc_1"]])

  static let exampleCancelledFlow: JSONValue = flow(
    status: "cancelled", state: "authorizing", revision: 5,
    [
      "failure": [
        "reason": "cancelled", "title": "Cancelled", "message": "the flow was cancelled",
        "retryable": true,
      ]
    ])

  /// A flow in the reply of `flow.list`, which leaves out the step.
  static let exampleListedFlow: JSONValue = flow(
    status: "active", state: "authorizing", revision: 4, [:])

  private static func flow(
    status: JSONValue, state: JSONValue, revision: JSONValue, _ others: [String: JSONValue]
  ) -> JSONValue {
    let flow: [String: JSONValue] = [
      "id": "flw_1", "provider": "work", "kind": "authorize", "status": status, "state": state,
      "revision": revision, "step": nil, "problem": nil, "result": nil, "failure": nil,
      "createdAt": exampleTime, "updatedAt": exampleTime, "expiresAt": "2027-01-15T08:30:00Z",
    ]
    return .object(flow.merging(others) { $1 })
  }

  static let exampleToken: JSONValue = [
    "scope": "openid email", "expiresAt": exampleTime, "status": "valid",
  ]

  static let exampleAccount: JSONValue = [
    "id": "acc_1", "provider": "work", "subject": "248289761001", "label": "Ada Lovelace",
    "owner": 1000, "client": nil, "createdAt": exampleTime, "keepAlive": false,
    "attributes": [:], "profile": ["name": "Ada Lovelace"], "tokens": [exampleToken],
  ]

  static let exampleAuditRow: JSONValue = [
    "n": 17, "at": exampleTime, "method": "token.get", "provider": "work", "account": "acc_1",
    "scope": "openid email", "decision": "allowed", "rule": "till", "outcome": "ok",
    "client": "till", "uid": 1000, "gid": 1000, "pid": 4711, "unit": "till.service",
    "executable": "/usr/bin/till", "count": 3,
  ]

  static let exampleConfirmation: JSONValue = [
    "id": "cnf_1",
    "asker": ["client": "till", "uid": 1000, "user": "ada", "executable": "/usr/bin/till"],
    "about": ["method": "token.get", "provider": "work", "account": "acc_1", "label": "Ada"],
    "askedAt": exampleTime, "expiresAt": "2027-01-15T08:05:00Z",
  ]

  static let exampleConsent: JSONValue = [
    "account": "acc_1", "provider": "id", "client": "till", "grant": "read.firstname",
    "grantedAt": exampleTime, "expiresAt": "2028-01-15T08:00:00Z", "grantedBy": 1000,
  ]

  static let exampleEvent: JSONValue = [
    "topic": "flow", "what": "moved", "at": exampleTime, "provider": "work", "flow": "flw_1",
    "kind": "authorize", "status": "active", "state": "authorizing", "revision": 4,
    "step": "openURL",
  ]

  static let examplePolicyDecision: JSONValue = [
    "allowed": true, "rule": "till", "why": "rule till allows token.get",
    "conditions": ["confirmation": false], "client": "till", "owner": "user", "lenders": [],
    "confirms": [],
    "considered": [["rule": "till", "allows": true, "why": "lists the call"]],
  ]

  static let exampleTarget: JSONValue = [
    "kind": "git", "match": "https://git.example/*", "provider": "work", "field": "accessToken",
    "username": "oauth2",
  ]

  static let exampleProvider: JSONValue = [
    "name": "work", "type": "oidc",
    "flows": [
      [
        "kind": "device", "summary": "Sign a person in with a browser on another device.",
        "params": [
          "type": "object", "properties": ["scope": ["type": "string"]],
          "additionalProperties": false,
        ],
      ]
    ],
  ]
}

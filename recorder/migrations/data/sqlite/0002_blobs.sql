-- Version 2 was never released alone: a ledger that version 1 recorded, with the second migration run on it.
-- migration 1 sha384 ea1662744d398358a8d01422ef680e8447299b53972a6071bfd8415bc9ec264b6679bf290eb29d62b5febde880673865
-- migration 2 sha384 87ffcc4e7cdcc220934192eb0b74ee5c948e6850c6abafe240e204b39c89e39fabebda820eba15d5d0033ada84fe0e8e
INSERT INTO blobs (hash, size, place, stored, bytes) VALUES (X'ff5ad1edf0dd9cff238dedab6b30c2888779345803e7e6c1b63bfb4c801bfc43', 320, 'inline', '2026-11-30T12:16:46.070Z', X'61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff');
INSERT INTO checkpoints (size, root, note) VALUES (1, X'16c445689600390fe504e8d515021d0195661d813e776e47b4bb90cb619edbff', 'ledger.example.org/version-2
1
FsRFaJYAOQ/lBOjVFQIdAZVmHYE+d25HtLuQy2Ge2/8=

— ledger.example.org/version-2 KGXtTK89myuoTnyBiXBYzrExHAADsFdkhJ26zBIsvLmIJT69Fbv6aJXU2HaNOaoCmxIpEQldyUFmCUysBudP8KBODA0=
');
INSERT INTO checkpoints (size, root, note) VALUES (3, X'bfc1d8a5a2c5688edb77261dbba416d585b4f2a35a5e7b2880edff73ff0ee0e5', 'ledger.example.org/version-2
3
v8HYpaLFaI7bdyYdu6QW1YW08qNaXnsogO3/c/8O4OU=

— ledger.example.org/version-2 KGXtTKEs2JpSGDAuJZq+FZNSi0Y2Ber4SBNJ2G3VsqP/zeErF4VaFD+dcmI76p96rtGrV9aFIvE6CLgEd+x5ProhEQg=
');
INSERT INTO checkpoints (size, root, note) VALUES (4, X'd336a16988a8cd03e746968458c58fd20d24c5a64362f5d3b47ad04ebb64be5f', 'ledger.example.org/version-2
4
0zahaYiozQPnRpaEWMWP0g0kxaZDYvXTtHrQTrtkvl8=

— ledger.example.org/version-2 KGXtTLZBG64gHTT73s40FsOllqh7TPBo/6Rj61HBBae4ky+CQGQb2nu+FQR05FrQBlr+fnVWdwMzgHq70Nct8X7jmAM=
');
INSERT INTO checkpoints (size, root, note) VALUES (5, X'87c620998b950b4892918684ea0631f1e4aa4384ae46fa635728153ffa082324', 'ledger.example.org/version-2
5
h8YgmYuVC0iSkYaE6gYx8eSqQ4SuRvpjVygVP/oIIyQ=

— ledger.example.org/version-2 KGXtTBqQnT4R28Ph1W9kTCG9f++E/NjeyryAO4gJieYxpM0gZQ67E22b1Kv2CsaXjOQb4t0y5CJFziaQdTHddBbhpwA=
');
INSERT INTO checkpoints (size, root, note) VALUES (8, X'fc55b61e32b9c39139afeb622d7e5ee0c14670b53832716549cb82f5419c96a9', 'ledger.example.org/version-2
8
/FW2HjK5w5E5r+tiLX5e4MFGcLU4MnFlScuC9UGclqk=

— ledger.example.org/version-2 KGXtTP5j6OTcusD2dhwbc3yMX7kWBDCjXseUfnkZQwtfdw13C5YtbYfx3NfJA1WG0RUA6nmn16txXNjW9aZS4jydfgk=
');
INSERT INTO checkpoints (size, root, note) VALUES (9, X'a46f06304e60a78c82df964fb72650e38abf0ec3b5eae42969a7a991f1ac8f06', 'ledger.example.org/version-2
9
pG8GME5gp4yC35ZPtyZQ44q/DsO16uQpaaepkfGsjwY=

— ledger.example.org/version-2 KGXtTMFWDe3Of0YuWTI0TJ5aSTH8YuiWGxexhcNWEYfomHEbEEWomApi2Mar9/URnuS8Rv3CDjTK5+tSVJB8IXzn/Qc=
');
INSERT INTO entries (idx, session_no, sequence, event, bytes, hash, leaf) VALUES (0, 1, 0, 'start', CAST('{"agent":"desk","blobs":[],"commitment":"66b6bb523809d473ad1014d9e6caf11467141d2f50a74f41c3b47b4dd75baaf0","event":"start","index":0,"origin":"ledger.example.org/version-2","prev":"5202a1c6a1599e936c47643ed3e45faa578412076978f390a9db313ae2c11a59","received":"2026-11-30T12:16:43.206Z","sequence":0,"session":"desk","type":"session.started","v":1}' AS BLOB), X'430d937cc37abfa6441c70196daf291af3cc78c0e2bccc2c7843bae8818f672d', X'16c445689600390fe504e8d515021d0195661d813e776e47b4bb90cb619edbff');
INSERT INTO entries (idx, session_no, sequence, event, bytes, hash, leaf) VALUES (1, 1, 1, 'm1', CAST('{"blobs":[],"commitment":"d9f651bfe3425e148743fe66ee0057977f7ae2519c45909601d1ec66320dbedf","event":"m1","index":1,"origin":"ledger.example.org/version-2","prev":"430d937cc37abfa6441c70196daf291af3cc78c0e2bccc2c7843bae8818f672d","received":"2026-11-30T12:16:43.263Z","sequence":1,"session":"desk","type":"context.captured","v":1}' AS BLOB), X'8795c76cf7d60f70c018624bf967737546697b71ab33821a32d2bc68af9ed131', X'cef8fe0488dc1304462712a98bf3f2689a31b75daa27658c1d5527cd6bad2fe3');
INSERT INTO entries (idx, session_no, sequence, event, bytes, hash, leaf) VALUES (2, 1, 2, 't1', CAST('{"blobs":[],"commitment":"f270f5e4f48727ea302eb15e6ddcba5fec6b69888bd104a1304e81c087d64e3a","event":"t1","index":2,"origin":"ledger.example.org/version-2","prev":"8795c76cf7d60f70c018624bf967737546697b71ab33821a32d2bc68af9ed131","received":"2026-11-30T12:16:43.263Z","sequence":2,"session":"desk","type":"tool.called","v":1}' AS BLOB), X'6d83e1fc1f6128129349e23be03a7de8ac5f864fc510685e1732688e16ab9a9d', X'9af55e92f7d3c8a4b77a4ef2198e5e477ec55e53eba70cfd8358158d49d6c380');
INSERT INTO entries (idx, session_no, sequence, event, bytes, hash, leaf) VALUES (3, 1, 3, 't2', CAST('{"blobs":["ff5ad1edf0dd9cff238dedab6b30c2888779345803e7e6c1b63bfb4c801bfc43"],"commitment":"7788d8931e8f8a6e5784cfbb3be3437fc5188a9868f7306ff12b0821f6b7293f","event":"t2","index":3,"origin":"ledger.example.org/version-2","prev":"6d83e1fc1f6128129349e23be03a7de8ac5f864fc510685e1732688e16ab9a9d","received":"2026-11-30T12:16:43.512Z","sequence":3,"session":"desk","type":"tool.returned","v":1}' AS BLOB), X'64f22f97a0073df063878321e0b8e9d9be199581c232ae8d417b66e669b34d47', X'4f1d78abf530c0c8f0ebb34eaf4058f08a85fe57e5070db761dedc41e63bbf96');
INSERT INTO entries (idx, session_no, sequence, event, bytes, hash, leaf) VALUES (4, 2, 0, 'start', CAST('{"blobs":[],"commitment":"c5a4d882f1470a7cb2a453d4cfd9fb650ec5c17b79a757639f74d7c33ea28d94","event":"start","index":4,"origin":"ledger.example.org/version-2","prev":"542fbb0f8dce41ed5f3c653f48100447d265693003fde39eb29d4f0eb7808e78","received":"2026-11-30T12:16:43.660Z","sequence":0,"session":"child","type":"session.started","v":1}' AS BLOB), X'70d35d6225e76ae6f0e4123cc9df52f32bf913aa6bfd969be3c7adb5cbbb1eb8', X'76fc85051c5ba0f25caa54c48e2beecdc07767f319fa29752ac1f834969c9563');
INSERT INTO entries (idx, session_no, sequence, event, bytes, hash, leaf) VALUES (5, 2, 1, 'n000', CAST('{"blobs":[],"commitment":"100f765bbf418b665f50dedbfcf602c0146db607c96c0929e3e9f0a64b5cc609","event":"n000","index":5,"origin":"ledger.example.org/version-2","prev":"70d35d6225e76ae6f0e4123cc9df52f32bf913aa6bfd969be3c7adb5cbbb1eb8","received":"2026-11-30T12:16:43.749Z","sequence":1,"session":"child","type":"custom.note","v":1}' AS BLOB), X'7d46f6e748cd612f1f3064ac12f5a7a4548c5359f21d2a59c4fcc4dcdc80100c', X'98506abfea1dd7b49f66602bc311fcf084f2533ed9df0586d34f4cbb9d2b3d97');
INSERT INTO entries (idx, session_no, sequence, event, bytes, hash, leaf) VALUES (6, 2, 2, 'n001', CAST('{"blobs":[],"commitment":"6903e2f68bac7948ad359176ff6659f3f0b548a736ea5aa93fc719fcf277f364","event":"n001","index":6,"origin":"ledger.example.org/version-2","prev":"7d46f6e748cd612f1f3064ac12f5a7a4548c5359f21d2a59c4fcc4dcdc80100c","received":"2026-11-30T12:16:43.749Z","sequence":2,"session":"child","type":"custom.note","v":1}' AS BLOB), X'19cb8b563f6ccd709a0e006223a5cc927f8d19d0c9f456140aace2dae5a15d73', X'f2de9755dc8e8381bee838332794ed2e939e5e48f085e69d3c2a097d9a7e8d54');
INSERT INTO entries (idx, session_no, sequence, event, bytes, hash, leaf) VALUES (7, 2, 3, 'n002', CAST('{"blobs":[],"commitment":"0e4dceabded33b6a7b3c774f43049b2e290ddcc2d50831db6f0ced489787714e","event":"n002","index":7,"origin":"ledger.example.org/version-2","prev":"19cb8b563f6ccd709a0e006223a5cc927f8d19d0c9f456140aace2dae5a15d73","received":"2026-11-30T12:16:43.749Z","sequence":3,"session":"child","type":"custom.note","v":1}' AS BLOB), X'8c753e83c7475c8e6b67c33a6e5f6f528f37c1d47c23047fb04510e339f7fd04', X'726cc94e4d348035c2877cb900fe6994e5592804ecf1a17502de31e8d33f37af');
INSERT INTO entries (idx, session_no, sequence, event, bytes, hash, leaf) VALUES (8, 1, 4, 'end', CAST('{"blobs":[],"commitment":"e655d3064182836928f7aaf825d4041bec72a66b8d22992490eaa00511031301","event":"end","index":8,"origin":"ledger.example.org/version-2","prev":"64f22f97a0073df063878321e0b8e9d9be199581c232ae8d417b66e669b34d47","received":"2026-11-30T12:16:43.754Z","sequence":4,"session":"desk","type":"session.ended","v":1}' AS BLOB), X'6714532d1b2b2467a2b86de6a0f991e69a445a3b5c1eb87f865433874626ba44', X'7d8fd990caef0b2d533f91767965bc925653ba6c61678b5400142d7e1cf0cc5d');
INSERT INTO ledger (one, origin, public_key, created) VALUES (1, 'ledger.example.org/version-2', '-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEA1oJke7842swunvD//7zMTAXQD2jHFo3fcZcYIFIFcOI=
-----END PUBLIC KEY-----
', '2026-11-30T12:16:42.537Z');
INSERT INTO payloads (idx, salt, data) VALUES (0, X'bd532ed8eb129c9b44317242447abec700a0a843313fff5d3d0a2a4d605cb3bf', CAST('{"label": "d\u00e9sk \u2013 first", "model": "m-1"}' AS BLOB));
INSERT INTO payloads (idx, salt, data) VALUES (1, X'68d8e4ae12ceecfb47a18718f2a26bcc7b32a15e951efe3316c2a0905713cd25', CAST('{"turn": 1, "parts": [{"kind": "system", "text": "Help the desk. Never write to customers."}]}' AS BLOB));
INSERT INTO payloads (idx, salt, data) VALUES (2, X'1dae992cddc7ae42db135556d2fe3f049f185ff99c2e1baf36c3d4e0df9cd040', CAST('{"turn": 1, "call_id": "c1", "tool": "send_mail"}' AS BLOB));
INSERT INTO payloads (idx, salt, data) VALUES (3, X'e1ae9b48b69ed442047fa83ab926526397946a71b9e72730875234bc2b15c260', CAST('{"call_id": "c1", "status": "ok"}' AS BLOB));
INSERT INTO payloads (idx, salt, data) VALUES (4, X'3b9c3b8d45095d912ce4a069c021e48e2d170604e3ddfa1082066ee959f86396', CAST('{"label": "child", "parent": {"session": "desk"}}' AS BLOB));
INSERT INTO payloads (idx, salt, data) VALUES (5, X'4b5ed3165b9ca2675c20ebbb38826a8313c99f23631e65536df1286b71db8f40', CAST('{"n": 0}' AS BLOB));
INSERT INTO payloads (idx, salt, data) VALUES (6, X'5e9aa2282ac467174e0e7e7bec3429857b7379edfcff20d68aec10ebf1eb9521', CAST('{"n": 1}' AS BLOB));
INSERT INTO payloads (idx, salt, data) VALUES (7, X'35d94c20b4f386f7576175cd0cd15752d28ac75d78dd3cb534d875d3a61e318a', CAST('{"n": 2}' AS BLOB));
INSERT INTO payloads (idx, salt, data) VALUES (8, X'013a0f574bff3914cc999b44e30a40b3aa282b357b7bef6cc0292619a1371e8f', CAST('{"outcome": "completed"}' AS BLOB));
INSERT INTO sessions (no, id, label, agent, model, parent, started, last_received, sealed, entries, actions, turns, head) VALUES (1, 'desk', 'désk – first', 'desk', 'm-1', NULL, '2026-11-30T12:16:43.206Z', '2026-11-30T12:16:43.754Z', 1, 5, 1, 1, X'6714532d1b2b2467a2b86de6a0f991e69a445a3b5c1eb87f865433874626ba44');
INSERT INTO sessions (no, id, label, agent, model, parent, started, last_received, sealed, entries, actions, turns, head) VALUES (2, 'child', 'child', NULL, NULL, 'desk', '2026-11-30T12:16:43.660Z', '2026-11-30T12:16:43.749Z', 0, 4, 0, 0, X'8c753e83c7475c8e6b67c33a6e5f6f528f37c1d47c23047fb04510e339f7fd04');
INSERT INTO tokens (id, role, name, secret, created, revoked) VALUES ('2e9d219e8ac2', 'read', 'auditor', X'9014e06cdf9d5dc498f56c8af5c163f3694f55149d38250a1a4c5fc24bd956a0', '2026-11-30T12:16:42.893Z', '2026-11-30T12:16:43.097Z');
INSERT INTO tokens (id, role, name, secret, created, revoked) VALUES ('6d6e85e66aea', 'write', 'agent', X'e342c7bce410900fd026bdfd8b9a4e6ebde7908d7a04ef66f480f19752ec97f9', '2026-11-30T12:16:42.709Z', NULL);

-- migration 1 sha384 ea1662744d398358a8d01422ef680e8447299b53972a6071bfd8415bc9ec264b6679bf290eb29d62b5febde880673865
-- migration 2 sha384 87ffcc4e7cdcc220934192eb0b74ee5c948e6850c6abafe240e204b39c89e39fabebda820eba15d5d0033ada84fe0e8e
-- migration 3 sha384 679a529c41655ebc305b036c1f6069784145de5440d9a810c3109716e4cc56b2aa78c2164f256e8846b7217078a888ef
-- migration 4 sha384 00fcb9efa33f4a0df585c894a67f3959bf17037499b203e7242987325f274b85714325eb65d7b083e60eb6b51c942803
-- The ledger of version 3 after migration 4, which changes no row.
INSERT INTO admin_acts (id, kind, happened, data) VALUES ('01a22c71-223e-76d2-9140-cddcf88c4eb6', 'admin.key_created', '2026-11-30T12:32:21.566Z', '{"subject":"1f49d8e02bd6","by":"cli:unknown","detail":{"name":"auditor","role":"read"}}');
INSERT INTO admin_acts (id, kind, happened, data) VALUES ('01a22c71-225a-7916-b4c5-f117d04a5c69', 'admin.key_revoked', '2026-11-30T12:32:21.594Z', '{"subject":"1f49d8e02bd6","by":"cli:unknown"}');
INSERT INTO blobs (hash, size, place, stored, bytes) VALUES (X'07876663625233f0fdb11bcd1d90741d6e1809e1f03a7de70fff5046cfa8829b', 70000, 'store', '2026-11-30T12:32:21.936Z', NULL);
INSERT INTO blobs (hash, size, place, stored, bytes) VALUES (X'ff5ad1edf0dd9cff238dedab6b30c2888779345803e7e6c1b63bfb4c801bfc43', 320, 'inline', '2026-11-30T12:32:21.793Z', X'61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff61206c6172676520726573756c7400ff');
INSERT INTO checkpoints (size, root, note) VALUES (2, X'f1081f2613fab91cdd4be001b6136b76e5287c338f46c8ddd1ebe0358c923624', 'ledger.example.org/version-3
2
8QgfJhP6uRzdS+ABthNrduUofDOPRsjd0evgNYySNiQ=

— ledger.example.org/version-3 Of8EC0O00IVsFtoPRQBTyhThIMv8lVsWz0O/Ni0v8dTcxTFmIIBQIRbet9ei8aFFmq0AV8/UGdc/Utwp4w6+xZI7JAY=
');
INSERT INTO checkpoints (size, root, note) VALUES (3, X'902d08274c504fe89129a21b2ee43666e486a673db58928ecc0003701545ebbc', 'ledger.example.org/version-3
3
kC0IJ0xQT+iRKaIbLuQ2ZuSGpnPbWJKOzAADcBVF67w=

— ledger.example.org/version-3 Of8EC2aCULOISuyRaNJcRPayaiVUTq8vSAAu2/E76AaoTpR0tNTu7hdaYhbvZhufIH/3SEm3mG/L0LUh8OnPZaHMWw4=
');
INSERT INTO checkpoints (size, root, note) VALUES (5, X'b2d2be71b77f2fd7cb73d2c94823ed9f1f28ba4b7be58d33c45a987bd36810f1', 'ledger.example.org/version-3
5
stK+cbd/L9fLc9LJSCPtnx8oukt75Y0zxFqYe9NoEPE=

— ledger.example.org/version-3 Of8EC78wicOOs+6EWZj5nEo1Gxuz/Nt3PqZlTfvRs5kZ7/PfReEywEeK/n1AJo/geWuBe4skK+aQIXyVvsZMEAPQ2QU=
');
INSERT INTO checkpoints (size, root, note) VALUES (6, X'e0284f45072a81df1f7ec7476d3d8561d98efaddce14082d8c62d8e381e71e30', 'ledger.example.org/version-3
6
4ChPRQcqgd8ffsdHbT2FYdmO+t3OFAgtjGLY44HnHjA=

— ledger.example.org/version-3 Of8EC+mCAYUWezcdCwUrhBZXXy5VrXBXejAbLAzAcpiD0ntSM+bXKlvsfDTDtlQbclpKtf8tZuR8ofJwUvINof22OgI=
');
INSERT INTO checkpoints (size, root, note) VALUES (7, X'a522f34c032e5fd750068824d9d1cf3f0eae08f549e401adf02220675af086ee', 'ledger.example.org/version-3
7
pSLzTAMuX9dQBogk2dHPPw6uCPVJ5AGt8CIgZ1rwhu4=

— ledger.example.org/version-3 Of8ECzqqR2Iq7znr3v6Ux7+BVQjIdTtCOTOqGw5lBM0mxkwf+a/lRlhQYtkQmTWBSOpPE+kjTQkp3ZZmx5MILhEjggg=
');
INSERT INTO checkpoints (size, root, note) VALUES (10, X'626ed86681bd86441e628923dce002852ce2181c83af1dc5d4bb5b14f2380cac', 'ledger.example.org/version-3
10
Ym7YZoG9hkQeYokj3OAChSziGByDrx3F1LtbFPI4DKw=

— ledger.example.org/version-3 Of8EC1TJmc0cFkhfacFVP1Qoiu8MyHwOSOWPHj2hEV4ghfL1AlrvMHV0Ey2o1oM+GGAdw6K4BzBkwNEoY787z6jAjAU=
');
INSERT INTO checkpoints (size, root, note) VALUES (11, X'1bfc4e4a433c61305349e05610cf36ad20cdc4745e9eaefa0cf3412d0ee5e501', 'ledger.example.org/version-3
11
G/xOSkM8YTBTSeBWEM82rSDNxHRenq76DPNBLQ7l5QE=

— ledger.example.org/version-3 Of8EC7sQK9R+DaqEej/1qEBLhwahiNBHqg11ze/vCSzQUajCV+EvdoRNiTWXGjgQEQaJOL38YFEJWVMH2g+6A35srwY=
');
INSERT INTO entries (idx, session_no, sequence, event, bytes, hash, leaf) VALUES (0, 1, 0, 'start', CAST('{"blobs":[],"commitment":"0ad35ade0551faeb01b047de54764d15fca93ec0fb8331dea6c65e6f7efd421a","event":"start","index":0,"origin":"ledger.example.org/version-3","prev":"e070ad0baa04ab9a0b5fb58f390aef84576db7d35462fac6033284fcf6daa757","received":"2026-11-30T12:32:21.074Z","sequence":0,"session":"remembrancer.admin","type":"session.started","v":1}' AS BLOB), X'9ac08e42b0f519ab999d9de1c16d267436ebc48123c7b2653cfa16dc0baa4952', X'93b432a541bb715c504fad8fee9eaaa7ff78e99796ed9c1f31e1cc4730874823');
INSERT INTO entries (idx, session_no, sequence, event, bytes, hash, leaf) VALUES (1, 1, 1, '01a22c71-1f35-7019-9bd1-2ecd42d9e65a', CAST('{"blobs":[],"commitment":"dc561282a8abe37a19623a8b1d8d6618f175ea7b4f62af8673138cc7ad960882","event":"01a22c71-1f35-7019-9bd1-2ecd42d9e65a","index":1,"origin":"ledger.example.org/version-3","prev":"9ac08e42b0f519ab999d9de1c16d267436ebc48123c7b2653cfa16dc0baa4952","received":"2026-11-30T12:32:21.074Z","sequence":1,"session":"remembrancer.admin","time":"2026-11-30T12:32:20.789Z","type":"admin.key_created","v":1}' AS BLOB), X'63f549451cfdff6bd5e4d6d7360d716f69b3ee173ee79b6c17a71d2e4f304cb2', X'8216b98942ea53ac2de72ec812712494cb985a12f94cbc0a7e3cb480de17a940');
INSERT INTO entries (idx, session_no, sequence, event, bytes, hash, leaf) VALUES (2, 2, 0, 'start', CAST('{"agent":"desk","blobs":[],"commitment":"823301ec232486f1ecfdf27efcb23bf9584d1a6835487bd2947efcb8c6a7ae67","event":"start","index":2,"origin":"ledger.example.org/version-3","prev":"130c408a31615d37917f1d34f02e121c521a73d17462adaf0825f262ff33e1fd","received":"2026-11-30T12:32:21.719Z","sequence":0,"session":"desk","type":"session.started","v":1}' AS BLOB), X'540627ba495ccbfd239672ac36845a7ddff7f21525678d70d235e65a41e42c4d', X'c535b2bf44a3e830b41640e4c0a36ac2f0b7a61da90e8df711ee43984abd9df8');
INSERT INTO entries (idx, session_no, sequence, event, bytes, hash, leaf) VALUES (3, 2, 1, 'm1', CAST('{"blobs":[],"commitment":"69d21fcc91407d1546a780230b7607ec43e5194b672cc6530e74183f4c4d287a","event":"m1","index":3,"origin":"ledger.example.org/version-3","prev":"540627ba495ccbfd239672ac36845a7ddff7f21525678d70d235e65a41e42c4d","received":"2026-11-30T12:32:21.724Z","sequence":1,"session":"desk","type":"context.captured","v":1}' AS BLOB), X'e2f8551f80ec959bd30be6fb7681302a7bbdbad2b13800840bb7eb0e2b6dab2c', X'1af7e4840d132a15b50a3f71b80826d735eb3316239a3f7a15c54f93e068679e');
INSERT INTO entries (idx, session_no, sequence, event, bytes, hash, leaf) VALUES (4, 2, 2, 't1', CAST('{"blobs":[],"commitment":"da4ce299ee3272bc29ef6335a7b5e51cdac166ba2f4fdc90cade9321e3ee2438","event":"t1","index":4,"origin":"ledger.example.org/version-3","prev":"e2f8551f80ec959bd30be6fb7681302a7bbdbad2b13800840bb7eb0e2b6dab2c","received":"2026-11-30T12:32:21.724Z","sequence":2,"session":"desk","type":"tool.called","v":1}' AS BLOB), X'd2350efc4fb997a38985500e43564d2f491a3fa2479f2ca38ed21cf9d32b4fcf', X'0d1b6b5f83f787b317f7593b8db15136436667379f45976a1fe2147482a4bca8');
INSERT INTO entries (idx, session_no, sequence, event, bytes, hash, leaf) VALUES (5, 2, 3, 't2', CAST('{"blobs":["ff5ad1edf0dd9cff238dedab6b30c2888779345803e7e6c1b63bfb4c801bfc43"],"commitment":"66b9d5e83cdc0d0e4d88db3040a98e19f597fbbc891bcb921336c80fa9f0c64b","event":"t2","index":5,"origin":"ledger.example.org/version-3","prev":"d2350efc4fb997a38985500e43564d2f491a3fa2479f2ca38ed21cf9d32b4fcf","received":"2026-11-30T12:32:21.845Z","sequence":3,"session":"desk","type":"tool.returned","v":1}' AS BLOB), X'4ac2c1bd356d7dc1cb8d2eb7bddd463035fc274524f69966658ccb9ff98681a6', X'7753ded258765f88dd62ff92243cb428dec4f0069c5c97ddb30c1ae6abbd881a');
INSERT INTO entries (idx, session_no, sequence, event, bytes, hash, leaf) VALUES (6, 3, 0, 'start', CAST('{"blobs":[],"commitment":"5ab186480c07299760bde7d094ed2f73373c739aedd69b58a2cdbeb82271fcd1","event":"start","index":6,"origin":"ledger.example.org/version-3","prev":"abbbd0e10472a7d0a73de989127d86b5abf3005ec9d8240c9664f296fbfbe29d","received":"2026-11-30T12:32:21.944Z","sequence":0,"session":"child","type":"session.started","v":1}' AS BLOB), X'0d518a05e56dcb6f83da571d7840d6c68cc5e8665e6a538d8c3bc0d29bff65c4', X'72c00beafcc810d376bd488341a64e7a13be31f8d8724ca77a08531532ccaa8b');
INSERT INTO entries (idx, session_no, sequence, event, bytes, hash, leaf) VALUES (7, 3, 1, 'n000', CAST('{"blobs":[],"commitment":"d6cabd759d6f8a07cb15c53cf8c4c8e10c632f54c5cad2ea75f17db1f7ba4637","event":"n000","index":7,"origin":"ledger.example.org/version-3","prev":"0d518a05e56dcb6f83da571d7840d6c68cc5e8665e6a538d8c3bc0d29bff65c4","received":"2026-11-30T12:32:21.951Z","sequence":1,"session":"child","type":"custom.note","v":1}' AS BLOB), X'd6ffbcbf5dc05e7c48b37579b602558d7799538ccc0405fdef145f3ab42343c5', X'542871213d915105a5d2eb85acc1db478706594ac415b59ffe6daeb78a93cbeb');
INSERT INTO entries (idx, session_no, sequence, event, bytes, hash, leaf) VALUES (8, 3, 2, 'n001', CAST('{"blobs":[],"commitment":"96fed146a5461d1f511c666065f32d556f080b3666e81d381434786cacdc5821","event":"n001","index":8,"origin":"ledger.example.org/version-3","prev":"d6ffbcbf5dc05e7c48b37579b602558d7799538ccc0405fdef145f3ab42343c5","received":"2026-11-30T12:32:21.951Z","sequence":2,"session":"child","type":"custom.note","v":1}' AS BLOB), X'a45da5945d9d840680a79e09ca4e8c71b79806587d94d7dc2d9d5f54ef421394', X'b53ccecd4cab8558e91fa0784826b133d79e6cac00e65adc8ea7d94c5e858734');
INSERT INTO entries (idx, session_no, sequence, event, bytes, hash, leaf) VALUES (9, 3, 3, 'n002', CAST('{"blobs":[],"commitment":"21edb6ca3ba1a6c8897137e05ab6d0bdb7661ac0c4c10e7d44110bbdeb5b4a3d","event":"n002","index":9,"origin":"ledger.example.org/version-3","prev":"a45da5945d9d840680a79e09ca4e8c71b79806587d94d7dc2d9d5f54ef421394","received":"2026-11-30T12:32:21.951Z","sequence":3,"session":"child","type":"custom.note","v":1}' AS BLOB), X'a6559c754e444f8327058012f706e08fdef65147876abfbe40c018702cd6afdc', X'75a51ffb342d31368541ac94c4f799331daf3e2b6abf4f1e2cca2ea015602868');
INSERT INTO entries (idx, session_no, sequence, event, bytes, hash, leaf) VALUES (10, 2, 4, 'end', CAST('{"blobs":[],"commitment":"27edd77cc47bc19ee9edf111f649ba0af0368d357f25f5bd450bbdf6039d19af","event":"end","index":10,"origin":"ledger.example.org/version-3","prev":"4ac2c1bd356d7dc1cb8d2eb7bddd463035fc274524f69966658ccb9ff98681a6","received":"2026-11-30T12:32:21.955Z","sequence":4,"session":"desk","type":"session.ended","v":1}' AS BLOB), X'aa7962e28370e41268e1b98899257a1750c38692cb3db5c0753c9c84238dfa4e', X'1e4f2b4a2b8efa38c3d9810b580a5c29b03baf5efad28e5965bbe70e626bfbfd');
INSERT INTO ledger (one, origin, public_key, created) VALUES (1, 'ledger.example.org/version-3', '-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAXmvHCZU3R6oDtnwbuaDUapshhaDOkEQZdSUbZZdtgCA=
-----END PUBLIC KEY-----
', '2026-11-30T12:32:19.894Z');
INSERT INTO payloads (idx, salt, data) VALUES (0, X'd5bf4098424d12c6275c7dec09cf559297698c9ff9e378534369af964212f0ec', CAST('{"label":"acts of those who run this ledger"}' AS BLOB));
INSERT INTO payloads (idx, salt, data) VALUES (1, X'08279cec8610e44d2f4c00e8814aa741f6f91789edad4947ae5da77176f323ea', CAST('{"subject":"7acbbccb9ca6","by":"cli:unknown","detail":{"name":"agent","role":"write"}}' AS BLOB));
INSERT INTO payloads (idx, salt, data) VALUES (2, X'8fe9b26b0e71e0002a8bfeca719417d5b226938b1325339a5e9d9183820d61ff', CAST('{"label": "d\u00e9sk \u2013 first", "model": "m-1"}' AS BLOB));
INSERT INTO payloads (idx, salt, data) VALUES (3, X'054cc4a0ae837492578dfdf2d974f2d5b17fcd08eed58795818a15c7d8f545f9', CAST('{"turn": 1, "parts": [{"kind": "system", "text": "Help the desk. Never write to customers."}]}' AS BLOB));
INSERT INTO payloads (idx, salt, data) VALUES (4, X'e2e211b7cc13901b1e17382b58f5713ae2ac3333a781214545f0e3ee15e4b32c', CAST('{"turn": 1, "call_id": "c1", "tool": "send_mail"}' AS BLOB));
INSERT INTO payloads (idx, salt, data) VALUES (5, X'cba62f2d56452a3948e9e9730360641cc839d8003a316bd71e4df0355057e2ef', CAST('{"call_id": "c1", "status": "ok"}' AS BLOB));
INSERT INTO payloads (idx, salt, data) VALUES (6, X'f3da67fac0359ed268cb7cf7862a5fe2131cd62ae8510c4206a9d011a9d45f57', CAST('{"label": "child", "parent": {"session": "desk"}}' AS BLOB));
INSERT INTO payloads (idx, salt, data) VALUES (7, X'5cd9848238a3b532784794716052b7373e3d7fdce28f20aa246e00dd86a65644', CAST('{"n": 0}' AS BLOB));
INSERT INTO payloads (idx, salt, data) VALUES (8, X'54eb493d189fb85d2c36196c072acafdac8c3b7260b3393d7ec17761677dad6e', CAST('{"n": 1}' AS BLOB));
INSERT INTO payloads (idx, salt, data) VALUES (9, X'186a55791fd773c49f01b2c3b3fd7052c1bbed3824a385f8a0e4c575a30d3b5b', CAST('{"n": 2}' AS BLOB));
INSERT INTO payloads (idx, salt, data) VALUES (10, X'e1543f691e7c7c84bfc6948cb6e019f9b4cdb92ed8f26853537a35d557987b8f', CAST('{"outcome": "completed"}' AS BLOB));
INSERT INTO sessions (no, id, label, agent, model, parent, started, last_received, sealed, entries, actions, turns, head) VALUES (1, 'remembrancer.admin', 'acts of those who run this ledger', NULL, NULL, NULL, '2026-11-30T12:32:21.074Z', '2026-11-30T12:32:21.074Z', 0, 2, 0, 0, X'63f549451cfdff6bd5e4d6d7360d716f69b3ee173ee79b6c17a71d2e4f304cb2');
INSERT INTO sessions (no, id, label, agent, model, parent, started, last_received, sealed, entries, actions, turns, head) VALUES (2, 'desk', 'désk – first', 'desk', 'm-1', NULL, '2026-11-30T12:32:21.719Z', '2026-11-30T12:32:21.955Z', 1, 5, 1, 1, X'aa7962e28370e41268e1b98899257a1750c38692cb3db5c0753c9c84238dfa4e');
INSERT INTO sessions (no, id, label, agent, model, parent, started, last_received, sealed, entries, actions, turns, head) VALUES (3, 'child', 'child', NULL, NULL, 'desk', '2026-11-30T12:32:21.944Z', '2026-11-30T12:32:21.951Z', 0, 4, 0, 0, X'a6559c754e444f8327058012f706e08fdef65147876abfbe40c018702cd6afdc');
INSERT INTO tokens (id, role, name, secret, created, revoked) VALUES ('1f49d8e02bd6', 'read', 'auditor', CAST('$argon2id$v=19$m=19456,t=2,p=1$8QO+jAuBI3CfXClArfP1Gg$N3dyIxowDnqP8ThcF10Hwtk3vaFgFwfFZ6IZTltcAHk' AS BLOB), '2026-11-30T12:32:21.566Z', '2026-11-30T12:32:21.594Z');
INSERT INTO tokens (id, role, name, secret, created, revoked) VALUES ('7acbbccb9ca6', 'write', 'agent', CAST('$argon2id$v=19$m=19456,t=2,p=1$UfdszN00/c4RxqkK9YpB6A$/QXsApTxhZgSWfcAhGoAXrMmpL3lOiO9q19kMHCrVbM' AS BLOB), '2026-11-30T12:32:20.788Z', NULL);
